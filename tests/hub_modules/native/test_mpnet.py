"""MPNet's relative positions, which all layers share."""

import tensorflow as tf

from hub_modules.native.relative.mpnet import MPNetEncoder
from hub_modules.native.weights import set_trainable


def test_frozen_blocks_run_in_inference_mode_while_the_embeddings_learn():
    encoder = MPNetEncoder(
        vocabulary_size=9,
        width=4,
        num_layers=2,
        num_heads=2,
        intermediate_width=8,
        max_positions=6,
        num_buckets=4,
        dropout=0.5,
        attention_dropout=0.5,
    )
    encoder.build()
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
