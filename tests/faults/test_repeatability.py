"""One config, one result, whatever surrounds the process (N3)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hub_modules.storage.files import sha256

CONFIG = """\
data: {{dataset: sample_tagging, source: sample, train_examples: 32}}
encoder: {{handle: {module}}}
adaptation: fine_tuning
training: {{epochs: 2, batch_size: 8, learning_rate: 1.0e-2}}
"""
# The threads of data and of operations side by side; those within one operation change last bits.
SURROUNDINGS = {
    "as it is": {"PYTHONHASHSEED": "0", "TF_NUM_INTEROP_THREADS": "1"},
    "another hash seed, eight data threads and another folder": {
        "PYTHONHASHSEED": "1",
        "TF_NUM_INTEROP_THREADS": "8",
    },
}


def hashes(run: Path) -> dict[str, str]:
    """Of all that a run is for; of arrays their bytes, of scores all but times and memory."""
    found = {}
    for path in sorted(run.glob("checkpoint/*/*.npz")):
        with np.load(path, allow_pickle=False) as arrays:
            for name in arrays.files:
                found[f"{path.relative_to(run)} {name}"] = arrays[name].tobytes()
    for name in ("config.yaml", "task.json", "history.csv", "predictions/dev.tsv"):
        found[name] = sha256(run / name)
    metrics = json.loads((run / "metrics.json").read_text("utf-8"))
    return found | {"metrics": {**metrics, "seconds": None, "peak_memory_mb": None}}


@pytest.mark.slow
def test_n3_the_same_bits_in_other_surroundings(shallow_bert, tmp_path):
    (tmp_path / "config.yaml").write_text(CONFIG.format(module=shallow_bert), "utf-8")
    (tmp_path / "elsewhere").mkdir()
    results = {}
    for name, environment in SURROUNDINGS.items():
        folder = tmp_path / "elsewhere" if "another folder" in name else tmp_path
        paths = [os.path.relpath(tmp_path / one, folder) for one in ("config.yaml", name)]
        command = [sys.executable, "-m", "tf_adapt", "train", paths[0], "--out", paths[1]]
        done = subprocess.run(
            command, cwd=folder, env=os.environ | environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        results[name] = hashes(tmp_path / name)
    first = results.pop("as it is")
    assert len(first) > 20
    for name, found in results.items():
        different = [key for key in first if first[key] != found.get(key)]
        assert found.keys() == first.keys() and not different, (name, different)
