"""The heads that the benchmark trains in NumPy, and its table in the docs."""

import json
from pathlib import Path

import keras
import numpy as np

from benchmarks import frozen_reading
from benchmarks.frozen_reading import Training, table_lines

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_has_what_was_measured():
    rows = json.loads((DOCS / "frozen_reading.json").read_text("utf-8"))
    page = (DOCS / "guide_heads.md").read_text("utf-8").splitlines()
    lines = table_lines(rows)
    assert len(lines) > 5
    for line in lines:
        assert line in page


def test_a_step_is_that_of_keras(monkeypatch):
    """Without a mix and dropout: AdamW with the clipped gradient of the mean cross-entropy."""
    monkeypatch.setattr(frozen_reading, "DROPOUT", 0.0)
    random = np.random.default_rng(1)
    vectors = random.normal(size=(16, 1, 5)).astype("float32") * 3
    targets = random.integers(0, 3, size=16)
    training = Training(vectors, targets, 3, seed=2)
    kernel, bias = training.weights["kernel"][0].copy(), training.weights["bias"][0].copy()
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3)])
    model.set_weights([kernel, bias])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    warm = round(frozen_reading.WARMUP * training.total)
    optimizer = keras.optimizers.AdamW(1.0, weight_decay=0.01, global_clipnorm=1.0)
    model.compile(optimizer, loss)
    for step in range(5):
        training._step(np.arange(16))
        factor = (step + 1) / warm if step < warm else 1 - (step - warm) / (training.total - warm)
        optimizer.learning_rate = frozen_reading.RATES[0] * factor
        model.train_on_batch(vectors[:, 0], targets)
    np.testing.assert_allclose(training.weights["kernel"][0], model.get_weights()[0], atol=1e-4)
    np.testing.assert_allclose(training.weights["bias"][0], model.get_weights()[1], atol=1e-4)
