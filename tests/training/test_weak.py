"""A run whose training labels come from several sources: its loss, its identity, what it shows."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_models import without_dropout

from tf_adapt.config.reading import config_from
from tf_adapt.data.prepared import SOFT_LABELS
from tf_adapt.errors import ArtifactError
from tf_adapt.runs import checkpoints
from tf_adapt.runs.run_folder import finished_metrics
from tf_adapt.serving.model_card import run_card
from tf_adapt.training import epochs as training_epochs
from tf_adapt.training.build import build_parts
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.inspect import inspect_data
from tf_adapt.training.session import Session
from tf_adapt.training.train import train
from tf_adapt.training.trained_run import fisher_of_run

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

WORDS = ("who", "what", "where", "how", "which")
LABELS = ("no", "yes")


@pytest.fixture
def files(tmp_path):
    """Train without labels, and what three sources say of it."""
    random = np.random.default_rng(4)
    texts = [" ".join(random.choice(WORDS, 1 + number % 7)) for number in range(24)]
    truth = ["yes" if "who" in text else "no" for text in texts]
    (tmp_path / "train.tsv").write_text("text\n" + "\n".join(texts) + "\n", "utf-8")
    lines = ["ann\tben\tcoin"]
    for label in truth:
        cells = [label if random.random() < 0.8 else str(random.choice(LABELS)) for _ in range(2)]
        lines.append("\t".join([*cells, "" if random.random() < 0.3 else random.choice(LABELS)]))
    (tmp_path / "votes.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    rows = [f"{text}\t{label}" for text, label in zip(texts[:10], truth, strict=False)]
    (tmp_path / "dev.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n", "utf-8")
    return tmp_path


@pytest.fixture
def make_config(files, tiny_bert):
    def make(weak=None, handle=None, training=None, **more):
        content = {
            "data": {
                "format": "tsv",
                "kind": "classification",
                "train": str(files / "train.tsv"),
                "dev": str(files / "dev.tsv"),
                "columns": {"text_a": "text", "label": "label"},
            },
            "weak": {"votes": str(files / "votes.tsv")} | (weak or {}),
            "encoder": {"handle": str(handle or tiny_bert)},
            "adaptation": "fine_tuning",
            "training": {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2} | (training or {}),
        }
        return config_from(content | more, "test")

    return make


def best_arrays(run):
    return checkpoints.load_best(run / "checkpoint").arrays["model"]


def same_results(one, two):
    for name in (arrays := best_arrays(one)):
        np.testing.assert_array_equal(arrays[name], best_arrays(two)[name])
    for name in ("history.csv", "predictions/dev.tsv"):
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_the_loss_is_cross_entropy_with_the_posteriors(make_config):
    config = make_config({"aggregate": "majority"}, penalties={"l2_sp": {"alpha": 0.5}})
    parts = build_parts(config)
    model, posteriors = parts.model, np.array(parts.splits.weak.posteriors)
    assert set(np.unique(posteriors)) == {0, 0.5, 1}
    order = [5, 0, 17, 3, 9]
    inputs, targets = parts.data["train"].batch(np.array(order))
    np.testing.assert_array_equal(inputs["a"][SOFT_LABELS], posteriors[order])
    np.testing.assert_array_equal(targets, posteriors[order].argmax(axis=1))
    logits = model(inputs, training=False)
    shifted = np.array(logits, "float64")
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    # At the start the encoder is where it was; the head has its own penalty.
    for weight in model.trainable_weights:
        weight.assign_add(np.full(weight.shape, 1e-3, "float32"))
    penalties = float(sum(model.losses))
    assert penalties > 1e-4
    found = float(model.compute_loss(inputs, targets, logits, training=True))
    expected = -(posteriors[order] * logs).sum(axis=1).mean()
    assert found == pytest.approx(expected + penalties, rel=1e-5)
    # Evaluation counts labels as ever.
    hard = float(model.compute_loss(inputs, targets, logits, training=False))
    of_labels = -logs[np.arange(5), np.array(targets)].mean()
    assert hard == pytest.approx(of_labels + penalties, rel=1e-5)
    assert SOFT_LABELS not in parts.data["dev"].batch(np.array([0]))[0]["a"]


def test_a_resumed_run_has_the_same_bits_and_shows_its_sources(make_config, tmp_path, monkeypatch):
    config, whole, run = make_config(), tmp_path / "whole", tmp_path / "run"
    metrics = train(config, whole)
    found = metrics["weak"]
    assert list(found["sources"]) == ["ann", "ben", "coin"]
    assert (found["aggregate"], found["examples"]) == ("dawid_skene", 24)
    assert finished_metrics(whole)["weak"] == found
    assert "- trained on labels from 3 sources: " in run_card(whole)
    save = training_epochs.save_state

    def interrupted(*args):
        save(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(training_epochs, "save_state", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(config, run)
    monkeypatch.undo()
    train(config, run)
    same_results(run, whole)


def test_other_votes_are_another_run(make_config, files, tmp_path, monkeypatch):
    def interrupted(*args):
        save(*args)
        raise KeyboardInterrupt

    save, run = training_epochs.save_state, tmp_path / "run"
    monkeypatch.setattr(training_epochs, "save_state", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(make_config(), run)
    votes = (files / "votes.tsv").read_text()
    # The most probable labels stay as they are.
    lines = votes.splitlines()
    row = next(number for number, line in enumerate(lines) if line.endswith("\t"))
    changed = "\n".join([*lines[:row], lines[row] + lines[row].split("\t")[0], *lines[row + 1 :]])
    (files / "votes.tsv").write_text(changed + "\n", "utf-8")
    with pytest.raises(
        ArtifactError, match="cannot go on, since this differs: weak.votes .*weak l"
    ):
        train(make_config(), run)


def test_a_frozen_encoder_learns_from_votes_too(make_config, tmp_path):
    """Its features are kept; the first epoch is one batch, whose loss is that of the start."""
    one_batch = {"epochs": 1, "batch_size": 24}
    options = {"adaptation": "feature_extraction", "head": "linear", "head_dropout": 0.0}
    config = make_config({"aggregate": "majority"}, training=one_batch, **options)
    train(config, tmp_path / "run")
    with open(tmp_path / "run" / "history.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    keras.utils.set_random_seed(0)
    parts = build_parts(config)
    inputs, _ = parts.data["train"].batch(np.arange(24))
    logs = np.array(tf.nn.log_softmax(parts.model(inputs, training=False)))
    expected = -(np.array(parts.splits.weak.posteriors) * logs).sum(axis=1).mean()
    assert float(row["loss"]) == pytest.approx(expected, rel=1e-4)


def test_commands_that_read_train_read_the_votes(make_config, tmp_path):
    config = make_config(training={"epochs": 1})
    assert dry_run(config)["steps_per_epoch"] == 3
    assert inspect_data(config)
    train(config, tmp_path / "run")
    assert fisher_of_run(tmp_path / "run", tmp_path / "fisher.npz", examples=4) == 4


def test_a_shared_session_has_the_bits_of_a_run_alone(make_config, files, tmp_path):
    session = Session()
    train(make_config(), tmp_path / "first", session)
    for aggregate in ("dawid_skene", "majority"):
        config = make_config({"aggregate": aggregate}, training={"seed": 1})
        train(config, tmp_path / f"{aggregate} shared", session)
        train(config, tmp_path / f"{aggregate} alone")
        same_results(tmp_path / f"{aggregate} shared", tmp_path / f"{aggregate} alone")


def test_two_devices_equal_one(tiny_bert, tmp_path):
    module = tmp_path / "bert"
    shutil.copytree(tiny_bert, module)
    without_dropout(module)
    child = Path(__file__).parents[1] / "children" / "soft_labels_on_two_devices.py"
    done = subprocess.run([sys.executable, str(child), str(module)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    one, two = found["one"], found["two"]
    assert two["loss"] == pytest.approx(one["loss"], rel=1e-5)
    np.testing.assert_allclose(two["weights"], one["weights"], atol=2e-6)
    assert np.abs(np.subtract(one["weights"], found["of_hard_labels"]["weights"])).max() > 1e-3
