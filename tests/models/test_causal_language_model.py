"""A causal model's own objective: against NumPy, beside a task, and as a run of its own."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_models import log_softmax

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.module_export import export_module
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

TEXTS = ["who is the cat ?", "a", "in the inn"]


def by_hand(encoder, inputs):
    """Mean loss of the next pieces, and its gradient by the table as the output layer."""
    states = encoder(inputs)["layers"][-1].numpy().astype("float64")
    table = encoder.native.embeddings.word_embeddings.numpy().astype("float64")
    ids, lengths = inputs["input_word_ids"].numpy(), inputs["input_mask"].numpy().sum(1)
    places = [
        (row, place)
        for row, length in enumerate(lengths)
        for place in range(1, length)
        if ids[row, place] < len(table)
    ]
    read = np.array([states[row, place - 1] for row, place in places])
    targets = [ids[place] for place in places]
    logs = log_softmax(read @ table.T)
    gradient = (np.exp(logs) - np.eye(len(table))[targets]).T @ read / len(places)
    return -logs[np.arange(len(targets)), targets].mean(), gradient


def test_the_tied_table_learns_from_both_uses(shallow_causal):
    encoder = ta.HubEncoder(shallow_causal)
    objective = ta.language_model_objective(encoder)
    inputs = encoder.preprocessor(tf.constant(TEXTS), 40)
    expected, from_output = by_hand(encoder, inputs)
    table = encoder.native.embeddings.word_embeddings.value

    def loss_and_gradient(encoded=None):
        with tf.GradientTape() as tape:
            losses = objective(inputs, encoder=encoder, encoded=encoded, training=False)
            loss = tf.reduce_mean(losses[losses >= 0])
        return float(loss), tf.convert_to_tensor(tape.gradient(loss, table)).numpy()

    loss, both = loss_and_gradient()
    assert loss == pytest.approx(expected, abs=1e-5)
    # With the states given, the table is the output layer alone.
    given, last = loss_and_gradient(encoder(inputs))
    assert given == pytest.approx(loss, abs=1e-6)
    np.testing.assert_allclose(last, from_output, atol=1e-5)
    assert np.abs(both - last).max() > 1e-4


def test_beside_a_task_it_is_added_with_its_weight(shallow_causal):
    """Without dropout: L2 + w L1 of GPT's fine-tuning, the classification token no target."""
    encoder = ta.HubEncoder(shallow_causal, classification_token=True)
    loss = ta.AuxiliaryLoss(ta.language_model_objective(encoder), weight=0.5)
    task = ta.Task("classification", labels=["no", "yes"])
    model = ta.build_model(task, encoder, "linear", "fine_tuning", auxiliaries=[loss])
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    optimizer = keras.optimizers.SGD(0.0)
    model.compile(optimizer, task.loss, metrics=task.metrics, run_eagerly=True)
    examples = [(text, "yes") for text in TEXTS]
    batches = ta.batches(examples, task, encoder, batch_size=3, shuffle=False)
    total = model.fit(batches, verbose=0).history["loss"][0]
    own = model.evaluate(batches, return_dict=True, verbose=0)["loss"]
    expected, _ = by_hand(encoder, encoder.preprocessor(tf.constant(TEXTS), 40))
    assert total - own == pytest.approx(0.5 * expected, abs=1e-4)


@pytest.fixture
def config(shallow_causal, tmp_path):
    (tmp_path / "text.txt").write_text("who is in the inn\nthe cat\n" * 8)
    data = {"format": "text", "kind": "language_model"}
    content = {
        "objective": "language_model",
        "data": data | {split: str(tmp_path / "text.txt") for split in ("train", "dev")},
        "encoder": {"handle": str(shallow_causal)},
        "adaptation": "fine_tuning",
        "training": {"epochs": 2, "batch_size": 4, "learning_rate": 1e-2},
    }
    return lambda **changes: config_from(content | changes, "test")


def test_a_run_learns_text_and_its_encoder_is_a_module(config, tmp_path):
    train(config(), tmp_path / "run")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["dev"]["perplexity"] < 150  # by chance 261, the number of pieces
    export_module(tmp_path / "run", tmp_path / "module")
    found, expected = ta.HubEncoder(tmp_path / "module"), load_run(tmp_path / "run").encoder
    inputs = expected.preprocessor(tf.constant(TEXTS), 40)
    for one, other in zip(found(inputs)["layers"], expected(inputs)["layers"], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_head_that_trains_alone_is_refused(config, tmp_path):
    for name in ("feature_extraction", "two_stage", "gradual_unfreezing"):
        message = f"from the first step, for its table.*got {name}; take"
        with pytest.raises(ConfigError, match=message):
            train(config(adaptation=name), tmp_path / name)
