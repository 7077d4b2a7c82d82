"""Contrastive tuning against SetFit, run beside it on MiniLM (requirements/setfit.txt)."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from hub_modules.sources import huggingface
from hub_modules.sources.layouts.names import to_foreign
from tf_adapt.data.batches import prepare
from tf_adapt.models.contrastive.contrasts import OF_LABELS, OF_SCORES, cosines

LABELS = ["negative", "positive"]
TRAIN = [
    ("a stirring , funny and finally transporting film", "positive"),
    ("one long string of cliches .", "negative"),
    ("the acting is wonderful", "positive"),
    ("a boring , endless mess that nobody needs", "negative"),
    ("i loved every minute", "positive"),
    ("it fails", "negative"),
]
PAIRS = [(0, 2), (0, 1), (1, 3), (4, 3), (4, 5), (2, 4), (5, 1), (5, 2)]
SCORES = [3.0, 0.5, 3.0, 0.0, 1.0, 4.5, 2.0, 0.5]


@pytest.fixture(scope="module")
def work(shared, tmp_path_factory) -> Path:
    """What SetFit computed, and the sentence encoder that it computed it with."""
    python = os.environ.get("TF_ADAPT_SETFIT_PYTHON")
    if not python:
        pytest.skip("TF_ADAPT_SETFIT_PYTHON does not name an interpreter with setfit")
    folder = tmp_path_factory.mktemp("setfit")
    first, second = ([TRAIN[number] for number in column] for column in zip(*PAIRS, strict=True))
    given = {
        "first": [text for text, _ in first],
        "second": [text for text, _ in second],
        "equal": [float(a == b) for (_, a), (_, b) in zip(first, second, strict=True)],
        "scores": SCORES,
        "train": [text for text, _ in TRAIN],
        "labels": [LABELS.index(label) for _, label in TRAIN],
    }
    (folder / "pairs.json").write_text(json.dumps(given))
    child = Path(__file__).parents[1] / "children" / "setfit_pairs.py"
    command = [python, child, shared / "models/minilm_l6_h384", folder]
    quiet = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | quiet)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def model(work):
    task = ta.Task("classification", labels=LABELS)
    encoder = ta.HubEncoder(str(work / "model"), trainable=True)
    model = ta.build_model(task, encoder, adaptation=ta.contrastive())
    assert model.head.pooling is None and encoder.pooling == "mean"
    return model


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "contrast"), [("labels", OF_LABELS), ("scores", OF_SCORES)])
def test_losses_and_gradients(work, model, compare, name, contrast):
    given, theirs = json.loads((work / "pairs.json").read_text()), np.load(work / "theirs.npz")
    pack = model.encoder.preprocessor
    inputs = {"a": pack(given["first"]), "b": pack(given["second"])}
    targets = tf.constant(given["equal" if name == "labels" else "scores"])
    names = model.encoder.native.weights_by_name()
    with tf.GradientTape() as tape:
        loss = contrast.loss(targets, cosines(model, inputs))
    compare(f"loss of pairs with {name}", loss, theirs[f"{name}:loss"], 1e-5)
    gradients = tape.gradient(loss, [weight.value for weight in names.values()])
    ours = {
        key: np.zeros(weight.shape) if gradient is None else tf.convert_to_tensor(gradient).numpy()
        for (key, weight), gradient in zip(names.items(), gradients, strict=True)
    }
    rows = huggingface.table_rows(huggingface.read(work / "model").config)
    found = to_foreign(rows, ours)
    weights = [weight for weight in found if f"{name}:{weight}" in theirs]
    assert len(weights) > 90
    assert max(np.abs(theirs[f"{name}:{weight}"]).max() for weight in weights) > 1e-2
    apart = [np.abs(found[weight] - theirs[f"{name}:{weight}"]).max() for weight in weights]
    compare(f"gradients of pairs with {name}", apart, np.zeros(len(apart)), 1e-5)


@pytest.mark.oracle
def test_the_logistic_head(work, model, compare):
    given, theirs = json.loads((work / "pairs.json").read_text()), np.load(work / "theirs.npz")
    model.end_epoch(prepare(TRAIN, model.task, model.encoder))
    found = [answer.scores for answer in ta.predict(model, given["first"])]
    compare("probabilities of the logistic head", found, theirs["probabilities"], 1e-4)
