"""A run with heads of slices: resumed, loaded, exported; which slices can have heads."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from language_models import without_dropout

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.data.prepared import SLICE_TARGETS
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.runs import checkpoints
from tf_adapt.runs.run_folder import finished_metrics
from tf_adapt.training import epochs as training_epochs
from tf_adapt.training.build import build_parts
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

SLICES = {"who": {"words": ["who"]}, "long": {"longer_than": 4}}
TRAIN = "text\tlabel\nwho is it\tno\nwhat\tyes\nwhere is the man and who\tyes\nit is\tno\n"
DEV = "text\tlabel\nwho is who\tno\nwhere is the man of the house\tyes\n"


@pytest.fixture
def make_config(tiny_bert, tmp_path):
    (tmp_path / "train.tsv").write_text(TRAIN, "utf-8")
    (tmp_path / "dev.tsv").write_text(DEV, "utf-8")

    def make(slices=SLICES, **more):
        content = {
            "data": {
                "format": "tsv",
                "kind": "classification",
                "train": str(tmp_path / "train.tsv"),
                "dev": str(tmp_path / "dev.tsv"),
                "columns": {"text_a": "text", "label": "label"},
            },
            "slices": slices,
            "slice_heads": True,
            "encoder": {"handle": str(tiny_bert)},
            "adaptation": "fine_tuning",
            "training": {"epochs": 2, "batch_size": 2, "learning_rate": 1e-2},
        }
        return config_from(content | more, "test")

    return make


def interrupt(monkeypatch):
    save = training_epochs.save_state

    def interrupted(*args):
        save(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(training_epochs, "save_state", interrupted)


def test_members_have_their_targets_and_others_none(make_config, tmp_path):
    (tmp_path / "ids.txt").write_text("train.tsv:3\ndev.tsv:2\n", "utf-8")
    config = make_config(SLICES | {"mine": {"file": str(tmp_path / "ids.txt")}})
    parts = build_parts(config)
    inputs, targets = parts.data["train"].batch(np.array([2, 0, 1, 3]))
    assert targets.numpy().tolist() == [1, 0, 1, 0]
    expected = [[1, 1, -1], [0, -1, -1], [-1, -1, 1], [-1, -1, -1]]
    assert inputs["a"][SLICE_TARGETS].numpy().tolist() == expected
    assert SLICE_TARGETS not in parts.data["dev"].batch(np.array([0]))[0]["a"]


def test_a_resumed_run_has_the_same_bits_and_is_served_by_its_main_head(
    make_config, tmp_path, monkeypatch
):
    config, whole, run = make_config(), tmp_path / "whole", tmp_path / "run"
    metrics = train(config, whole)
    assert metrics["slice_heads"] == {"who": 2, "long": 1}
    assert finished_metrics(whole)["slice_heads"] == metrics["slice_heads"]
    assert metrics["slices"]["dev"]["who"]["examples"] == 1
    interrupt(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        train(config, run)
    with pytest.raises(ConfigError, match=r"slices.long.longer_than \(was 4, now 5\)"):
        train(make_config(SLICES | {"long": {"longer_than": 5}}), run)
    with pytest.raises(ArtifactError, match="this differs: slices of train"):
        train(make_config(dict(reversed(SLICES.items()))), run)
    monkeypatch.undo()
    train(config, run)
    one, two = (checkpoints.load_best(at / "checkpoint").arrays["model"] for at in (run, whole))
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])
    assert (run / "history.csv").read_bytes() == (whole / "history.csv").read_bytes()

    model = ta.load_run(whole)
    ta.export(model, tmp_path / "export")
    served = tf.saved_model.load(str(tmp_path / "export"))
    answer = served.signatures["serving_default"](text=tf.constant(["who is it"]))
    (expected,) = ta.predict(model, ["who is it"])
    np.testing.assert_allclose(answer["scores"][0], expected.scores, atol=1e-6)
    # One kernel of a head is in the export, three are in the run.
    shape = tuple(model.head.trainable_weights[-2].shape)
    assert [tuple(one.shape) for one in model.weights].count(shape) == 3
    assert [tuple(one.shape) for one in served.variables].count(shape) == 1


def test_a_slice_needs_examples_of_train(make_config, tmp_path):
    (tmp_path / "dev.tsv").write_text(DEV + "the house\tno\n", "utf-8")
    config = make_config(SLICES | {"house": {"words": ["house"]}})
    message = "slices.house: expected at least one of the 4 examples of train .* got 0"
    with pytest.raises(DataError, match=message):
        train(config, tmp_path / "run")
    with pytest.raises(DataError, match=message):
        dry_run(config)


def test_two_devices_equal_one(tiny_bert, tmp_path):
    module = tmp_path / "bert"
    shutil.copytree(tiny_bert, module)
    without_dropout(module)
    child = Path(__file__).parents[1] / "children" / "slice_heads_on_two_devices.py"
    done = subprocess.run([sys.executable, str(child), str(module)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["two"]["loss"] == pytest.approx(found["one"]["loss"], rel=1e-5)
    np.testing.assert_allclose(found["two"]["weights"], found["one"]["weights"], atol=2e-6)
