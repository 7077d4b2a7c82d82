"""ModernBERT's attention: in blocks, in parts, turned by positions; recomputed layers."""

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.native.kernels.local_attention import in_blocks, local_attention
from hub_modules.native.relative import modern_bert_block
from hub_modules.native.relative.modern_bert import ModernBertEncoder
from hub_modules.native.relative.modern_bert_block import RotaryAttention

REACH = 4
CONFIG = {
    "vocabulary_size": 30,
    "width": 8,
    "num_layers": 3,
    "num_heads": 2,
    "intermediate_width": 16,
    "max_positions": 64,
    "global_layers": [0],
    "local_attention": 2 * REACH,
}


def attend(query, key, value, visible):
    scores = tf.matmul(query, key, transpose_b=True)
    return tf.nn.softmax(tf.where(visible, scores, -1e9)) @ value


@pytest.mark.parametrize("time", [1, 3, 12, 13, 16, 41])
def test_blocks_are_whole_attention_to_what_is_near(time):
    random = np.random.default_rng(time)
    states = [tf.constant(random.normal(size=(2, 3, time, 5)), tf.float32) for _ in range(3)]
    lengths = np.array([time, max(1, time - 6)])
    real = np.arange(time) < lengths[:, None]
    rows = real[:, None, :, None]
    near = np.abs(np.arange(time)[:, None] - np.arange(time)) <= REACH
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(states)
        seen = tf.constant(real[:, None, None])
        found = local_attention(*states, seen, REACH, attend)
        expected = attend(*states, tf.constant(real[:, None, None] & near))
        # Padding is beyond any text: what stands there is nobody's.
        sums = [tf.reduce_sum(tf.square(x) * rows) for x in (found, expected)]
    np.testing.assert_allclose(found * rows, expected * rows, atol=1e-6)
    for ours, theirs in zip(*(tape.gradient(total, states) for total in sums), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("time", [1, 7, 8, 20])
def test_queries_in_blocks_are_all_queries(time):
    query = tf.random.stateless_normal([2, 3, time, 5], [0, time])
    np.testing.assert_array_equal(in_blocks(query, 7, lambda part: 2 * part), 2 * query)


def test_a_long_row_is_attended_to_in_parts(monkeypatch):
    layer = RotaryAttention(8, 2, 0.0, 100.0, None)
    layer.build()
    states = tf.random.stateless_normal([2, 20, 8], [1, 2])
    mask = tf.sequence_mask([20, 11])
    whole = layer(states, mask)
    monkeypatch.setattr(modern_bert_block, "LONGEST_WHOLE", 10)
    monkeypatch.setattr(modern_bert_block, "QUERIES", 6)
    np.testing.assert_allclose(layer(states, mask), whole, atol=1e-6)


def test_a_score_depends_on_how_far_apart_two_positions_are():
    layer = RotaryAttention(8, 1, 0.0, 100.0, None)
    query, key = (tf.random.stateless_normal([8], [0, seed]) for seed in (1, 2))
    turned = [layer._turned(tf.tile(x[None, None, None], [1, 1, 30, 1])) for x in (query, key)]
    scores = tf.matmul(*turned, transpose_b=True)[0, 0].numpy()
    for distance in (-9, 0, 4):
        line = np.diagonal(scores, distance)
        np.testing.assert_allclose(line, line[0], atol=1e-5)
    assert np.ptp(scores) > 0.1
    np.testing.assert_allclose(scores[0, 0], tf.tensordot(query, key, 1), atol=1e-5)


@pytest.mark.slow
def test_recomputed_layers_have_the_same_gradients():
    inputs = {
        "input_word_ids": np.random.default_rng(0).integers(0, 30, (2, 20)).astype("int32"),
        "input_mask": (np.arange(20) < np.array([[20], [9]])).astype("int32"),
    }
    encoder = ModernBertEncoder(**CONFIG)
    encoder.build()
    found = []
    for checkpointing in (False, True):
        encoder.gradient_checkpointing = checkpointing
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(encoder(inputs, training=True)["pooled"] ** 3)
        weights = [weight.value for weight in encoder.trainable_weights]
        found.append(tape.gradient(loss, weights))
    for ours, theirs in zip(*found, strict=True):
        ours, theirs = tf.convert_to_tensor(ours), tf.convert_to_tensor(theirs)
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
