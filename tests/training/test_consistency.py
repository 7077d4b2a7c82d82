"""Runs with unlabelled texts: weight 0, a kill, two devices, and files that are refused."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from language_models import without_dropout

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.runs import checkpoints
from tf_adapt.training import steps as training_steps
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.load_run import load_run
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

TEXTS = [f"which city lies {place} the river" for place in ("on", "by", "at", "in", "near")]


@pytest.fixture
def unlabelled(tmp_path):
    path = tmp_path / "more.tsv"
    path.write_text("text\n" + "".join(f"{text}\n" for text in TEXTS), "utf-8")
    return path


@pytest.fixture(scope="module")
def make_config(tiny_bert):
    def make(unlabelled=None, dataset="sample_classification", handle=None, more=None, **section):
        content = {
            "data": {"dataset": dataset, "source": "sample", "train_examples": 20},
            "encoder": {"handle": str(handle or tiny_bert)},
            "adaptation": "fine_tuning",
            "training": {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2},
        }
        if unlabelled is not None:
            section = {"unlabelled": str(unlabelled), "perturbation": "words"} | section
            content["auxiliary"] = {"consistency": section}
        return config_from(content | (more or {}), "test")

    return make


def best_arrays(run):
    return checkpoints.load_best(run / "checkpoint").arrays["model"]


def assert_same_bits(run, other):
    one, two = best_arrays(run), best_arrays(other)
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def history(run):
    with (run / "history.csv").open() as file:
        return list(csv.DictReader(file))


def test_weight_0_is_no_consistency(make_config, unlabelled, tmp_path):
    train(make_config(), tmp_path / "without")
    train(make_config(unlabelled, weight=0), tmp_path / "zero")
    assert_same_bits(tmp_path / "without", tmp_path / "zero")
    losses = [[row["loss"] for row in history(tmp_path / run)] for run in ("without", "zero")]
    assert losses[0] == losses[1]


@pytest.mark.parametrize(
    "perturbation",
    ["words", *(pytest.param(one, marks=pytest.mark.slow) for one in ("mask", "adversarial"))],
)
def test_a_run_that_is_killed_goes_on_with_the_same_bits(
    make_config, unlabelled, tmp_path, monkeypatch, perturbation
):
    """Killed in the second epoch, whose unlabelled texts go on where the first stopped."""
    section = {"confidence": 0.251, "temperature": 0.8, "signal_annealing": "log"}
    annealed = {"final_weight": 0.5, "anneal_steps": 4}
    config = make_config(unlabelled, perturbation=perturbation, **section, **annealed)
    train(config, tmp_path / "whole")
    count = training_steps.Steps.on_train_batch_end

    def killed(self, batch, logs=None):
        if self.run.state.global_step == 4:
            self.run.interruption.requested = 15
        count(self, batch, logs)

    monkeypatch.setattr(training_steps.Steps, "on_train_batch_end", killed)
    with pytest.raises(SystemExit):
        train(config, tmp_path / "run")
    monkeypatch.undo()
    train(config, tmp_path / "run")
    assert_same_bits(tmp_path / "run", tmp_path / "whole")
    rows = history(tmp_path / "run")
    assert rows == history(tmp_path / "whole")
    assert all(float(row["consistency_loss"]) > 0 for row in rows)
    assert all(0 < float(row["confident"]) <= 1 for row in rows)
    assert not {"dev_consistency_loss", "dev_confident"} & set(rows[0])
    assert len(ta.predict(load_run(tmp_path / "run"), TEXTS)) == len(TEXTS)
    # Other unlabelled texts are another run.
    (tmp_path / "run" / "metrics.json").unlink()
    unlabelled.write_text("text\nwho is it\n", "utf-8")
    with pytest.raises(ArtifactError, match="auxiliary.consistency.unlabelled"):
        train(config, tmp_path / "run")


@pytest.mark.parametrize(
    ("dataset", "content", "message"),
    [
        (
            "sample_classification",
            "text\tlabel\nwho\tperson\n",
            r"without labels \(auxiliary.consistency.unlabelled\), got some with labels",
        ),
        ("sample_classification", "sentence\nwho\n", "more.tsv:1: .*'text'"),
        ("sample_classification", "text\n", "more.tsv"),
        ("sample_classification", "", "more.tsv"),
        ("sample_classification", None, "more.tsv"),
        ("sample_tagging", "Paris B-LOC\nsleeps O\n", "without labels .*the tags"),
    ],
)
def test_files_that_are_refused(make_config, tmp_path, dataset, content, message):
    path = tmp_path / "more.tsv"
    if content is not None:
        path.write_text(content, "utf-8")
    more = {"head": "linear_tagger"} if dataset == "sample_tagging" else {}
    config = make_config(path, dataset, more=more, perturbation="dropout")
    with pytest.raises(DataError, match=message):
        dry_run(config)


def test_what_the_encoder_refuses_and_no_paraphrases(make_config, unlabelled, tiny_elmo, tmp_path):
    config = make_config(unlabelled, handle=tiny_elmo, perturbation="mask")
    with pytest.raises(ConfigError, match="a mask piece for perturbation mask, .*family elmo"):
        dry_run(config)
    config = make_config(unlabelled, perturbation={"file": str(tmp_path / "nowhere.tsv")})
    with pytest.raises(DataError, match=r"nowhere.tsv"):
        dry_run(config)


def test_two_devices_equal_one(tiny_bert, tmp_path):
    module = tmp_path / "bert"
    shutil.copytree(tiny_bert, module)
    without_dropout(module)
    child = Path(__file__).parents[1] / "children" / "consistency_on_two_devices.py"
    command = [sys.executable, str(child), str(module)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    for perturbation, found in json.loads(done.stdout).items():
        one, two = found["one"], found["two"]
        # The noise is a gradient over its length, where sums in another order show.
        rel = 1e-2 if perturbation == "adversarial" else 1e-4
        for name in ("loss", "consistency_loss", "confident"):
            assert two[name] == pytest.approx(one[name], rel=rel), (perturbation, name)
        assert one["consistency_loss"] > 0 and one["confident"] > 0
        np.testing.assert_allclose(two["weights"], one["weights"], atol=2e-5, err_msg=perturbation)
