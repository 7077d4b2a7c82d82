"""A run whose training labels come from several sources: its loss, its identity, what it shows.

(On two devices: test_losses_on_two_devices.py.)
"""

import csv

import keras
import numpy as np
import pytest
import tensorflow as tf
from cut_runs import keep_at

from tf_adapt.config.reading import config_from
from tf_adapt.data.packing.prepared import SOFT_LABELS
from tf_adapt.errors import ArtifactError
from tf_adapt.runs.run_folder import finished_metrics
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.finished.run_cards import run_card
from tf_adapt.training.finished.run_fisher import fisher_of_run
from tf_adapt.training.resolving.build import build_parts
from tf_adapt.training.resolving.data_report import inspect_data
from tf_adapt.training.resolving.session import Session
from tf_adapt.training.train import train

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
def make_config(files, shallow_bert):
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
            "encoder": {"handle": str(handle or shallow_bert)},
            "adaptation": "fine_tuning",
            "training": {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2} | (training or {}),
        }
        return config_from(content | more, "test")

    return make


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


def test_a_run_shows_its_sources_and_is_another_with_other_votes(
    make_config, files, tmp_path, monkeypatch
):
    config, whole, run = make_config(), tmp_path / "whole", tmp_path / "run"
    with monkeypatch.context() as patch:
        keep_at(patch, 4, run)
        metrics = train(config, whole)
    found = metrics["weak"]
    assert list(found["sources"]) == ["ann", "ben", "coin"]
    assert (found["aggregate"], found["examples"]) == ("dawid_skene", 24)
    assert finished_metrics(whole)["weak"] == found
    assert "- trained on labels from 3 sources: " in run_card(whole)
    assert fisher_of_run(whole, tmp_path / "fisher.npz", examples=4) == 4
    votes = (files / "votes.tsv").read_text()
    # The most probable labels stay as they are.
    lines = votes.splitlines()
    row = next(number for number, line in enumerate(lines) if line.endswith("\t"))
    changed = "\n".join([*lines[:row], lines[row] + lines[row].split("\t")[0], *lines[row + 1 :]])
    (files / "votes.tsv").write_text(changed + "\n", "utf-8")
    with pytest.raises(
        ArtifactError, match="cannot go on, since this differs: weak.votes .*weak l"
    ):
        train(config, run)


def test_a_frozen_encoder_learns_from_votes_too(make_config, tmp_path):
    """Its features are kept; the first epoch is one batch, whose loss is that of the start."""
    one_batch = {"epochs": 1, "batch_size": 24}
    options = {"adaptation": "feature_extraction", "head": "linear", "head_dropout": 0.0}
    options["head_scaled"] = False  # the model below is not trained
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


def test_commands_that_read_train_read_the_votes(make_config):
    config = make_config()
    assert dry_run(config)["steps_per_epoch"] == 3
    assert inspect_data(config)


def test_a_shared_session_has_the_posteriors_of_a_run_alone(make_config):
    session, models = Session(), []
    for aggregate in ("dawid_skene", "majority", "majority"):
        config = make_config({"aggregate": aggregate}, training={"seed": len(models)})
        parts = session.parts(config)
        models.append(parts.model)
        expected = build_parts(config).data["train"].soft_labels
        np.testing.assert_array_equal(parts.data["train"].soft_labels, expected)
    assert models[0] is not models[1] is models[2]
