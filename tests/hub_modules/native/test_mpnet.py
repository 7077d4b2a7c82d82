"""MPNet's relative positions, which all layers share."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from hub_modules.native.relative.mpnet import MPNetEncoder
from hub_modules.native.weights import set_trainable


def built(dropout: float) -> MPNetEncoder:
    keras.utils.set_random_seed(0)
    encoder = MPNetEncoder(
        vocabulary_size=9,
        width=4,
        num_layers=2,
        num_heads=2,
        intermediate_width=8,
        max_positions=6,
        num_buckets=4,
        dropout=dropout,
        attention_dropout=dropout,
        name="mpnet",
    )
    encoder.build()
    return encoder


def test_frozen_blocks_run_in_inference_mode_while_the_embeddings_learn():
    encoder = built(0.5)
    encoder.embeddings.dropout_layer.rate = 0.0
    set_trainable(encoder.layer_groups, ["embeddings"])
    inputs = {"input_word_ids": [[0, 5, 6, 2]], "input_mask": [[1, 1, 1, 1]]}
    inputs = {name: tf.constant(value) for name, value in inputs.items()}
    with tf.GradientTape() as tape:
        top = encoder(inputs, training=True)["layers"][-1]
        loss = tf.reduce_sum(top[:, 0, 0])
    table = encoder.embeddings.relative_positions.table
    assert tape.gradient(loss, table.value) is not None
    tf.debugging.assert_equal(top, encoder(inputs, training=False)["layers"][-1])
    set_trainable(encoder.layer_groups, ["embeddings", "layer_1"])
    trained = encoder(inputs, training=True)["layers"][-1]
    assert (trained.numpy() != top.numpy()).any()


@pytest.mark.parametrize("learning", [None, ["embeddings"]])
def test_gradient_checkpointing_keeps_the_gradients(learning):
    """That of the table is a sum over the layers, here over frozen ones too."""
    inputs = {"input_word_ids": [[0, 5, 6, 2], [0, 7, 2, 1]], "input_mask": [[1] * 4, [1, 1, 1, 0]]}
    inputs = {name: tf.constant(value) for name, value in inputs.items()}
    target, gradients = tf.random.stateless_normal([2, 4, 4], [0, 1]), []
    for checkpointing in (False, True):
        encoder = built(0.3)  # draws alike from equal seeds
        encoder.gradient_checkpointing = checkpointing
        if learning is not None:
            set_trainable(encoder.layer_groups, learning)
        with tf.GradientTape() as tape:
            encoded = encoder(inputs, training=True)
            loss = tf.reduce_sum(encoded["layers"][-1] * target) + tf.reduce_sum(encoded["pooled"])
        weights = {weight.path: weight.value for weight in encoder.trainable_weights}
        gradients.append(tape.gradient(loss, weights))
    plain, again = gradients
    assert plain.keys() == again.keys() and "mpnet/embeddings/relative_positions/table" in plain
    for name, expected in plain.items():
        expected, got = tf.convert_to_tensor(expected), tf.convert_to_tensor(again[name])
        assert np.any(expected) or "key/bias" in name, name
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5, err_msg=name)
