"""Every example runs as its reader would run it, and README's program with them."""

import functools
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import keras
import pytest
from step_costs import COSTS

import tf_adapt as ta
from tf_adapt.comparison.plan import dry_run
from tf_adapt.comparison.plan.settings import comparison_from

ROOT = Path(__file__).parent.parent


NOTEBOOKS = {path.stem: path for path in (ROOT / "examples").glob("*.ipynb")}
# What those leave behind that are run as they are; of the others the cells that they compare.
MADE = {
    "quick_start": ["quick_start/report.html"],
    "your_own_dataframe": ["comparison/data/train.jsonl", "export/1/saved_model.pb"],
}
CELLS = {"squad_hands_on": 3, "three_steps": 2, "trec_hands_on": 5}


def programs() -> dict[str, str]:
    """The scripts, and README's programs."""
    found = {path.stem: path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")}
    readme = (ROOT / "README.md").read_text("utf-8")
    in_readme = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    return found | {f"readme_{number}": program for number, program in enumerate(in_readme)}


# The README's is the whole of `keras_script`, but for a few lines; the other is run in short below.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if "readme" in name else pytest.mark.large)
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


def code_of(path: Path) -> list[dict]:
    notebook = json.loads(path.read_text("utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_every_notebook_is_tried():
    assert NOTEBOOKS.keys() == MADE.keys() | CELLS.keys()


# The other one compares as this does; comparing a frame: comparison/test_compare_in_python.py.
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["quick_start", pytest.param("your_own_dataframe", marks=pytest.mark.large)]
)
def test_a_notebook_runs(name, tiny_elmo, tmp_path):
    """On a tiny ELMo in the place of the shipped one, for one epoch of one seed."""
    import nbclient
    import nbformat

    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    nbformat.validate(notebook)
    less = {"elmo_small": str(tiny_elmo), '"epochs": 5': '"epochs": 1', '"seeds": 2': '"seeds": 1'}
    for cell in notebook.cells:
        for written, here in less.items():
            cell.source = cell.source.replace(written, here)
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


@pytest.fixture
def two_batches(tmp_path, monkeypatch):
    """Wherever a program trains, it does so for two batches, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    fit = keras.Model.fit

    @functools.wraps(fit)
    def fit_two_batches(self, **given):
        self.run_eagerly = True
        names = [name for name in ("x", "validation_data") if name in given]
        short = {name: given[name].take(2) for name in names}
        return fit(self, **given | short | {"epochs": 1})

    monkeypatch.setattr(keras.Model, "fit", fit_two_batches)


@pytest.mark.slow
def test_a_script_runs_in_short(two_batches, capsys):
    exec(compile(programs()["gradual_unfreezing"], "gradual_unfreezing", "exec"), {})
    assert "Prediction(label=" in capsys.readouterr().out
    assert Path("export/1/saved_model.pb").is_file()
    assert list(Path("logs").rglob("events*"))


@pytest.mark.slow
@pytest.mark.parametrize("name", CELLS)
def test_the_program_of_a_notebook_runs(
    name, two_batches, shallow_bert, shallow_causal, tiny_lstm, monkeypatch
):
    """Its comparison is planned, not run; tiny modules play the shipped ones."""
    tiny = {"bert_small": shallow_bert, "lm_small": shallow_causal, "lstm_small": tiny_lstm}
    planned = []

    def plan(config, out):
        planned.append(dry_run.dry_run(comparison_from(config, "config")))
        return SimpleNamespace(headline="", frame=None)

    monkeypatch.setattr(ta, "compare", plan)
    monkeypatch.setattr(dry_run, "measured_costs", lambda *arguments: COSTS)
    found = {}
    for cell in code_of(NOTEBOOKS[name]):
        source = "".join(cell["source"])
        for handle, module in tiny.items():
            source = source.replace(f'"{handle}"', repr(str(module)))
        exec(compile(source, name, "exec"), found)
    (comparison,) = planned
    assert len(comparison["cells"]) == CELLS[name]


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
