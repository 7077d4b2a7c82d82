"""Steps compiled by XLA, on rows padded to few lengths: the same numbers as without."""

from dataclasses import replace

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.compiling import compiled_model
from tf_adapt.config import config_from
from tf_adapt.data.batches import batches_from, prepare
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.errors import ConfigError
from tf_adapt.training import LENGTH_STEP

TEXTS = ["the man sings", "rain", "who is the man ? what is it ?", "the dog"]
RECORDS = {
    "classification": [(text, label) for text, label in zip(TEXTS, "abba", strict=True)],
    "tagging": [TaggedSentence(text.split(), ["B-X"] + ["O"] * text.count(" ")) for text in TEXTS],
}
TASKS = {
    "classification": ta.Task("classification", ["a", "b"]),
    "tagging": ta.Task("tagging", ["O", "B-X", "I-X"]),
}


def config_of(handle, head, jit_compile):
    content = {
        "data": {"dataset": "sample_classification", "source": "sample"},
        "encoder": {"handle": str(handle)},
        "head": head,
        "adaptation": "fine_tuning",
        "training": {
            "epochs": 1,
            "batch_size": 2,
            "learning_rate": 1e-2,
            "jit_compile": jit_compile,
        },
    }
    return config_from(content, "test")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "head"), [("classification", "linear"), ("tagging", "crf")])
def test_the_same_training(tiny_bert, kind, head):
    found = []
    for jit_compile in (False, True):
        keras.utils.set_random_seed(0)
        model = compiled_model(config_of(tiny_bert, head, jit_compile), TASKS[kind])
        assert model.jit_compile is jit_compile
        for layer in model._flatten_layers():
            if isinstance(layer, keras.layers.Dropout):
                layer.rate = 0.0  # XLA draws other numbers
        data = prepare(RECORDS[kind], TASKS[kind], model.encoder)
        data = replace(data, length_step=LENGTH_STEP if jit_compile else 1)
        history = model.fit(batches_from(data, 2), epochs=2, verbose=0).history
        dev = model.evaluate(batches_from(data, 2, shuffle=False), verbose=0)
        found.append((history["loss"], dev, [weight.numpy() for weight in model.trainable_weights]))
    (losses, dev, weights), (losses_again, dev_again, compiled) = found
    np.testing.assert_allclose(losses_again, losses, rtol=1e-4)
    np.testing.assert_allclose(dev_again, dev, rtol=1e-4)
    for ours, expected in zip(compiled, weights, strict=True):
        np.testing.assert_allclose(ours, expected, atol=2e-3)  # Adam: rounding of no gradient


def test_rows_are_padded_to_few_lengths(tiny_bert):
    encoder = ta.HubEncoder(tiny_bert)
    data = prepare(RECORDS["tagging"], TASKS["tagging"], encoder)
    short, targets = data.batch(tf.range(2, dtype=tf.int64))
    long, padded_targets = replace(data, length_step=32).batch(tf.range(2, dtype=tf.int64))
    for name, expected in {**short["a"], "targets": targets}.items():
        found = padded_targets if name == "targets" else long["a"][name]
        filler = -1 if name in ("first_piece", "targets") else 0
        width = expected.shape[1]
        assert found.shape == (2, 32)
        np.testing.assert_array_equal(found[:, :width], expected)
        np.testing.assert_array_equal(found[:, width:], filler)


def test_elmo_is_refused(tiny_elmo):
    with pytest.raises(ConfigError, match="training.jit_compile: expected a BERT"):
        compiled_model(config_of(tiny_elmo, "linear", True), TASKS["classification"])
