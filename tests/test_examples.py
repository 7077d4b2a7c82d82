"""Every example runs as its reader would run it, and README's program with them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(script: Path, folder: Path) -> str:
    finished = subprocess.run(
        [sys.executable, str(script), str(folder / "out")],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=400,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    return finished.stdout


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_example(script, tmp_path):
    output = run(script, tmp_path)
    assert output.count("Prediction(label=") == 2
    assert (tmp_path / "out" / "export" / "1" / "saved_model.pb").is_file()
    accuracies = [float(found) for found in re.findall(r"val_accuracy: ([0-9.]+)", output)]
    # Four labels: chance is a quarter.
    assert max(accuracies) > 0.5


def test_readme_shows_the_example_as_it_is():
    readme = (ROOT / "README.md").read_text("utf-8")
    programs = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    assert programs, "README shows no program"
    body = (ROOT / "examples" / "keras_script.py").read_text("utf-8").split('"""\n', 1)[1]
    for line in programs[0].strip().splitlines():
        assert line.strip() in body, line
    assert len(programs[0].strip().splitlines()) <= 25
