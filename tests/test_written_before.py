"""Files that version 0.1 wrote, before its modules moved: they load, and predict the same."""

import hashlib
import json
import shutil
from pathlib import Path

import keras
import pytest

import tf_adapt as ta
import tf_adapt.models.serializables  # as `import tf_adapt` does where Keras is loaded already

WRITTEN = Path(__file__).parent / "written_before"
# What version 0.1 predicted with them.
EXPECTED = {
    "classification": (
        ["ab cd", "e f", "the what"],
        [0.5549749136, 0.5548887253, 0.5549576879],
    ),
    "tagging": ([["ab", "cd"], ["e", "f"]], [0.4359307587, 0.4289696217]),
}


@pytest.fixture
def written(tmp_path, monkeypatch) -> Path:
    """A copy, in which paths are relative: a `.keras` file names its module."""
    shutil.copytree(WRITTEN, tmp_path / "written")
    monkeypatch.chdir(tmp_path / "written")
    return tmp_path / "written"


@pytest.mark.parametrize("kind", EXPECTED)
def test_a_keras_file(written, kind):
    model = keras.saving.load_model(written / f"{kind}.keras")
    texts, expected = EXPECTED[kind]
    predictions = ta.predict(model, texts)
    found = [one.scores[0] for one in predictions]
    assert found == pytest.approx(expected, abs=1e-6)
    assert {one.label for one in predictions} == ({("O", "B-X")} if kind == "tagging" else {"no"})
    assert int(model.optimizer.iterations) == 2


def test_a_run_folder(written):
    run = written / "run"
    moved_to(run, written)
    model = ta.load_run(run)
    rows = [line.split("\t") for line in (run / "predictions/dev.tsv").read_text().splitlines()]
    texts = [line.split("\t")[0] for line in (written / "data/dev.tsv").read_text().splitlines()]
    predictions = ta.predict(model, texts[1:])
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    assert [one.label for one in predictions] == list(columns["prediction"])


def moved_to(run: Path, folder: Path) -> None:
    """Puts this folder into the files that name another machine's, and into the run's record."""
    record = json.loads((run / "record.json").read_text("utf-8"))
    for name in ("config.yaml", "metrics.json"):
        content = (run / name).read_bytes().replace(b"/elsewhere", bytes(folder))
        (run / name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        record["files"][name] = [{"bytes": len(content), "sha256": digest}]
    (run / "record.json").write_text(json.dumps(record), "utf-8")
