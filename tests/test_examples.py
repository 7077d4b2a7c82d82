"""Every example runs as its reader would run it, and README's program with them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


NOTEBOOKS = {path.stem: path for path in (ROOT / "examples").glob("*.ipynb")}
# What each leaves behind.
MADE = {
    "quick_start": ["quick_start/report.html", "quick_start/*/*/1/saved_model.pb"],
    "squad_hands_on": ["answers/report.html"],
    "three_steps": ["three_steps/report.html", "second_step.yaml"],
    "trec_hands_on": ["trec/report.html"],
    "your_own_dataframe": ["comparison/data/train.jsonl", "export/1/saved_model.pb"],
}


def programs() -> dict[str, str]:
    """The scripts, and README's programs."""
    found = {path.stem: path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")}
    readme = (ROOT / "README.md").read_text("utf-8")
    in_readme = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    return found | {f"readme_{number}": program for number, program in enumerate(in_readme)}


# The README's is the whole of `keras_script`, but for a few lines.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.large if "keras_script" in name else pytest.mark.slow)
        for name in sorted(programs())
    ],
)
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


@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_a_notebook_is_committed_as_it_is_written(name):
    notebook = json.loads(NOTEBOOKS[name].read_text("utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_a_notebook_runs(name, tmp_path):
    import nbclient
    import nbformat

    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    nbformat.validate(notebook)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources=resources
    ).execute()
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", [])]
    shown = [one["data"] for one in outputs if one["output_type"] == "execute_result"]
    assert any("fine_tuning" in data["text/plain"] for data in shown)
    for folder in MADE[name]:
        assert next(tmp_path.glob(folder), None), folder
    reports = [data for data in shown if "<iframe" in data.get("text/html", "")]
    assert len(reports) == (name == "quick_start")


def test_readme_has_one_short_program():
    (program,) = [text for name, text in programs().items() if name.startswith("readme")]
    assert len(program.strip().splitlines()) <= 25


def test_the_installed_command_starts():
    finished = subprocess.run(
        [Path(sys.executable).with_name("tf-adapt"), "--version"], capture_output=True, text=True
    )
    assert finished.returncode == 0 and "tf-adapt" in finished.stdout, finished.stderr


def test_imdbs_folder_becomes_four_files(tmp_path):
    for part in ("train/neg", "train/pos", "train/unsup", "test/neg", "test/pos"):
        (tmp_path / "aclImdb" / part).mkdir(parents=True)
        for number in range(2):
            text = f'A "film" <br /><br />no. {number}\tof {part}, é'
            (tmp_path / "aclImdb" / part / f"{number}_7.txt").write_text(text, "utf-8")
    script = ROOT / "examples" / "documents" / "imdb.py"
    command = [sys.executable, script, tmp_path / "aclImdb", tmp_path / "imdb"]
    subprocess.run(command, check=True, capture_output=True)
    made = {path.name: path.read_text("utf-8") for path in (tmp_path / "imdb").iterdir()}
    assert made["train.tsv"].splitlines()[:2] == [
        "text\tlabel",
        'A "film" no. 0 of train/neg, é\tnegative',
    ]
    assert made["test.tsv"].splitlines()[-1] == 'A "film" no. 1 of test/pos, é\tpositive'
    texts = [f'A "film" no. {n} of train/{of}, é' for of in ("neg", "pos", "unsup") for n in (0, 1)]
    assert [made["held_out.txt"].splitlines(), made["texts.txt"].splitlines()] == [
        texts[:1],
        texts[1:],
    ]
