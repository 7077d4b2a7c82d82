"""A number for a single text, from a file to predictions, an export and a comparison."""

import json

import keras
import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from random_modules import write_tiny_bert

from tf_adapt.commands.main import cli
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.training.train import train
from tf_adapt.training.trained_run import evaluate_file, export_run, predict_file

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

COLUMNS = {"text_a": "text", "label": "stars"}


def write_table(path, examples: int, seed: int):
    """Texts of five words, and the share of "the" among them."""
    random = np.random.default_rng(seed)
    rows = ["text\tstars"]
    for number in range(examples):
        count = int(random.integers(0, 6))
        words = random.permutation(["the"] * count + ["what"] * (5 - count))
        rows.append(f"{' '.join(words)} {number}\t{count / 5}")
    path.write_text("\n".join(rows) + "\n", "utf-8")


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("data")
    for number, split in enumerate(("train", "dev", "test")):
        write_table(folder / f"{split}.tsv", 64 if split == "train" else 32, number)
    files = {split: str(folder / f"{split}.tsv") for split in ("train", "dev", "test")}
    return {"format": "tsv", "kind": "regression", "columns": COLUMNS} | files


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """As `tiny_bert`, but the same whichever tests ran before: something must be learnt here."""
    folder = tmp_path_factory.mktemp("modules") / "bert"
    keras.utils.set_random_seed(0)
    write_tiny_bert(folder)
    return folder


@pytest.fixture(scope="module")
def run(data, encoder, tmp_path_factory):
    content = {
        "data": data,
        "encoder": {"handle": str(encoder)},
        "head": "linear",
        "adaptation": "fine_tuning",
        "training": {"epochs": 12, "batch_size": 16, "learning_rate": 1e-2},
    }
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(config_from(content, "test"), folder)
    return folder


def test_it_learns(run):
    metrics = json.loads((run / "metrics.json").read_text("utf-8"))
    assert metrics["metric"] == "pearson"
    assert metrics["test"]["pearson"] > 0.5


def test_run_and_export_predict_the_same(run, data, tmp_path):
    exported = export_run(run, tmp_path / "export")
    for folder, name in ((run, "run.tsv"), (exported, "export.tsv")):
        assert predict_file(folder, data["test"], tmp_path / name) == 32
    found, served, stored = (
        np.array(path.read_text("utf-8").splitlines()[1:], float)
        for path in (tmp_path / "run.tsv", tmp_path / "export.tsv", run / "predictions/test.tsv")
    )
    np.testing.assert_allclose(served, found, atol=2e-6)
    np.testing.assert_allclose(stored, found, atol=2e-6)
    assert np.std(found) > 1e-3
    scores = json.loads((run / "metrics.json").read_text("utf-8"))["test"]
    assert evaluate_file(run, data["test"]) == pytest.approx(scores, abs=1e-5)


@pytest.mark.parametrize("label", ["nan", "inf", "1e39", "much", ""])
def test_d14_a_target_that_is_no_finite_number(run, tmp_path, label):
    (tmp_path / "new.tsv").write_text(f"text\tstars\ngood\t1\nbad\t{label}\n", "utf-8")
    with pytest.raises(DataError, match=r"new\.tsv:3: expected a finite number"):
        evaluate_file(run, tmp_path / "new.tsv")


def test_a_pair_has_no_place(data, encoder):
    arguments = {"encoder": {"handle": str(encoder)}, "adaptation": "fine_tuning"}
    arguments["training"] = {"epochs": 1, "batch_size": 16, "learning_rate": 1e-3}
    changed = data | {"columns": COLUMNS | {"text_b": "other"}}
    with pytest.raises(ConfigError, match="data.columns.text_b: not a column of kind: regression"):
        config_from(arguments | {"data": changed}, "test")


@pytest.mark.large
def test_two_cells_are_compared(data, encoder, tmp_path):
    content = {
        "data": data,
        "compare": {
            "encoders": [str(encoder)],
            "adaptations": ["feature_extraction", "fine_tuning"],
            "heads": ["linear"],
            "learning_rates": [5.0e-3],
            "seeds": 2,
        },
        "training": {"epochs": 4, "batch_size": 16},
    }
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(content), "utf-8")
    done = CliRunner().invoke(cli, ["compare", str(tmp_path / "c.yaml"), "--out", f"{tmp_path}/o"])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "o" / "report.json").read_text("utf-8"))
    assert report["metric"] == "pearson"
    assert report["baseline"]["answer"] == pytest.approx(0.5, abs=0.1)
    assert report["verdict"]["guideline"]["sentence"] == (
        "The paper compared no task of this kind (regression)."
    )
    assert "The paper compared no task" in (tmp_path / "o" / "report.md").read_text("utf-8")
