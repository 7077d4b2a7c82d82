"""Options of the section `training` and of devices, through `train` as a user reaches it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import sentence_modules
import tensorflow as tf
from random_modules import write_random_module

from hub_modules.native import transformer_encoder
from tf_adapt.config.reading import config_from
from tf_adapt.runs import checkpoints
from tf_adapt.training.resolving.build import build_parts

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

TRAIN = """
import json, sys
from tf_adapt.config.reading import config_from
from tf_adapt.training.resolving.session import Session
from tf_adapt.training.train import train

for folder, content in json.loads(sys.argv[1]).items():
    train(config_from(content, "test"), folder, Session())
"""


@pytest.fixture(scope="module")
def module(tiny_bert, tmp_path_factory):
    """A BERT without dropout, of which XLA and two devices would draw other numbers; its positions
    are not a multiple of the lengths that rows are padded to for XLA."""
    folder = tmp_path_factory.mktemp("without_dropout") / "module"
    shutil.copytree(tiny_bert, folder)
    sizes = json.loads((folder / "manifest.json").read_text())["config"]
    sizes |= {"dropout": 0.0, "attention_dropout": 0.0, "max_positions": 40}
    shutil.rmtree(folder / "encoder")
    write_random_module(folder, "bert", sizes)
    return folder


@pytest.fixture(scope="module")
def content(module):
    def make(**changes):
        options = changes.pop("training", {})
        return {
            # Batches of 16 and of 1: one of two devices gets no text of the last.
            "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 33},
            "encoder": {"handle": str(module)},
            "head": "linear",
            "head_dropout": 0.0,
            "adaptation": "fine_tuning",
            # Adam would make steps of gradients that are nothing but rounding.
            "optimizer": {"name": "sgd"},
            "training": {"epochs": 2, "batch_size": 16, "learning_rate": 1e-1, "truncate": True}
            | options,
        } | changes

    return make


def trained_elsewhere(runs: dict) -> None:
    """In a process of its own: devices are split, and XLA is allowed, before anything has run."""
    program = [sys.executable, "-c", TRAIN, json.dumps(runs)]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def weights_of(folder: Path) -> dict:
    return checkpoints.load_latest(folder / "checkpoint").arrays["model"]


def assert_close(folder: Path, expected: Path) -> None:
    found, wanted = weights_of(folder), weights_of(expected)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, atol=1e-4, err_msg=name)
    metrics = [json.loads((run / "metrics.json").read_text()) for run in (folder, expected)]
    assert metrics[0]["dev"] == pytest.approx(metrics[1]["dev"], abs=1e-4)


def test_gradient_checkpointing(content, monkeypatch):
    calls, recomputed = [], transformer_encoder.recomputed
    monkeypatch.setattr(
        transformer_encoder,
        "recomputed",
        lambda *a, **options: calls.append(1) or recomputed(*a, **options),
    )
    found = []
    for checkpointing in (False, True):
        config = config_from(content(training={"gradient_checkpointing": checkpointing}), "test")
        keras.utils.set_random_seed(0)
        parts = build_parts(config)
        model, (inputs, targets) = parts.model, parts.data["train"].batch(np.arange(16))
        with tf.GradientTape() as tape:
            outputs = model(inputs, training=True)
            loss = model.compute_loss(inputs, targets, outputs, training=True)
        gradients = tape.gradient(loss, model.trainable_weights)
        found.append([tf.convert_to_tensor(one).numpy() for one in gradients])
        assert len(calls) == 2 * checkpointing  # one of each layer
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


@pytest.mark.large
@pytest.mark.parametrize(
    "changes",
    [
        {"training": {"gradient_checkpointing": True}},
        {"adaptation": {"name": "top_layers"}},
        {"adaptation": "feature_extraction"},
    ],
    ids=["gradient checkpointing", "kept states", "features"],
)
def test_two_devices_of_which_one_gets_no_text(content, tmp_path, changes):
    two = changes.get("training", {}) | {"devices": "cpu:2"}
    runs = {
        str(tmp_path / "two"): content(**changes | {"training": two}),
        str(tmp_path / "one"): content(**changes),
    }
    trained_elsewhere(runs)
    assert_close(tmp_path / "two", tmp_path / "one")


@pytest.fixture(scope="module")
def elsewhere(content, tmp_path_factory) -> Path:
    """Runs of one process. Deterministic operations, which the last one switches on, would make
    the program fail, and keep XLA from being used."""
    folder = tmp_path_factory.mktemp("elsewhere")
    program = sentence_modules.write_sentence_module(
        folder / "sentences", sentence_modules.WithDropout
    )
    # XLA compiles each layer, and each size of a batch, anew: 40 texts and the 60 of dev are whole
    # batches.
    small = {"data": content()["data"] | {"train_examples": 40}}
    small["encoder"] = content()["encoder"] | {"keep_layers": [0]}
    options = {"gradient_checkpointing": True, "batch_size": 20}
    runs = {
        "program": content(encoder={"handle": str(program), "trust": True}, training={"epochs": 1}),
        "xla": content(training=options | {"jit_compile": True}, **small),
        "plain": content(training=options, **small),
    }
    trained_elsewhere({str(folder / name): content for name, content in runs.items()})
    return folder


def test_jit_compile(elsewhere):
    """With gradient checkpointing."""
    assert_close(elsewhere / "xla", elsewhere / "plain")


def test_a_program_with_dropout_is_tuned(elsewhere):
    [embeddings] = [
        value
        for value in weights_of(elsewhere / "program").values()
        if value.shape == sentence_modules.TABLE.shape
    ]
    assert np.abs(embeddings - sentence_modules.TABLE).max() > 1e-3
