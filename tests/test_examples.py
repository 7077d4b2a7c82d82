"""Every example runs as its reader would run it, and README's program with them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def programs() -> dict[str, str]:
    """Those that need no argument."""
    found = {
        path.stem: path.read_text("utf-8")
        for path in (ROOT / "examples").glob("*.py")
        if path.stem != "frozen_heads"
    }
    readme = (ROOT / "README.md").read_text("utf-8")
    in_readme = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    return found | {f"readme_{number}": program for number, program in enumerate(in_readme)}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(programs()))
def test_program(name, tmp_path):
    (tmp_path / "program.py").write_text(programs()[name], "utf-8")
    finished = subprocess.run(
        [sys.executable, "program.py"], capture_output=True, text=True, cwd=tmp_path, timeout=400
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert "Prediction(label=" in finished.stdout
    assert (tmp_path / "export" / "1" / "saved_model.pb").is_file()
    assert list((tmp_path / "logs").rglob("events*"))
    accuracies = re.findall(r"(?<!val_)accuracy: ([0-9.]+)", finished.stdout)
    # Four labels: chance is a quarter.
    assert float(accuracies[-1]) > 0.5


@pytest.mark.slow
def test_heads_on_a_frozen_encoder(shared):
    program = [sys.executable, ROOT / "examples/frozen_heads.py", "sick_e", "elmo_small"]
    settings = ["--head", "linear", "--train-examples", "64", "--epochs", "2"]
    finished = subprocess.run(
        [*program, "--data", shared / "data/sick", *settings],
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    line = (
        r"sick_e elmo_small linear seed 0: accuracy \d+\.\d in epoch \d of 2, matthews -?\d+\.\d, "
    )
    assert re.search(line, finished.stdout)


def test_readme_has_one_short_program():
    (program,) = [text for name, text in programs().items() if name.startswith("readme")]
    assert len(program.strip().splitlines()) <= 25


def test_the_installed_command_starts():
    finished = subprocess.run(
        [Path(sys.executable).with_name("tf-adapt"), "--version"], capture_output=True, text=True
    )
    assert finished.returncode == 0 and "tf-adapt" in finished.stdout, finished.stderr
