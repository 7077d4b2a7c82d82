"""A word's vector from those of its pieces, against NumPy loops over words of 1 to 5 pieces."""

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.errors import ConfigError
from tf_adapt.layers.pooling import POOLINGS
from tf_adapt.layers.word_pieces import word_states

OVER_PIECES = {
    "first": lambda pieces: pieces[0],
    "last": lambda pieces: pieces[-1],
    "mean": lambda pieces: pieces.astype("float64").mean(0),
    "max": lambda pieces: pieces.max(0),
}
# Rows of [CLS], words of so many pieces, [SEP]; then words in a window of neighbours; no word.
PLAIN = [(1, 1), (2, 3), (4, 8), (9, 13)]
WINDOW = [(4, 6), (7, 7)]
ROWS = [PLAIN, WINDOW, []]
LENGTHS = (15, 12, 0)


def example(rows=ROWS, lengths=LENGTHS, dtype="float32") -> tuple:
    """States (NaN at padding), mask, and the positions of the words."""
    states = np.random.default_rng(0).normal(size=(len(rows), 17, 3)).astype("float32")
    mask = np.arange(17) < np.array(lengths)[:, None]
    states[~mask] = np.nan
    width = max(map(len, rows), default=0)
    pieces = np.full((2, len(rows), width), -1, "int32")
    for number, row in enumerate(rows):
        for place, ends in enumerate(row):
            pieces[:, number, place] = ends
    inputs = {"first_piece": tf.constant(pieces[0]), "last_piece": tf.constant(pieces[1])}
    return tf.cast(states, dtype), tf.constant(mask), inputs


def test_every_pooling_is_tested():
    assert set(OVER_PIECES) == set(POOLINGS)


@pytest.mark.parametrize("word_pieces", POOLINGS)
@pytest.mark.parametrize(("dtype", "rows"), [("float32", ROWS), ("bfloat16", ROWS[:1])])
def test_each_word_is_pooled_by_itself(word_pieces, dtype, rows):
    states, mask, inputs = example(rows, LENGTHS[: len(rows)] if len(rows) > 1 else [15], dtype)
    found, is_word = word_states(states, mask, inputs, word_pieces)
    assert found.dtype == dtype
    np.testing.assert_array_equal(is_word, inputs["first_piece"] >= 0)
    values = tf.cast(states, tf.float32).numpy()
    for number, row in enumerate(rows):
        for place, (first, last) in enumerate(row):
            expected = OVER_PIECES[word_pieces](values[number, first : last + 1])
            # Rounded once, at the end: bfloat16 has 8 bits.
            tolerance = 1e-6 if dtype == "float32" else 2**-8
            np.testing.assert_allclose(
                tf.cast(found[number, place], tf.float32), expected, rtol=tolerance, atol=1e-6
            )


@pytest.mark.parametrize("word_pieces", ["mean", "max"])
def test_padding_words_are_zero(word_pieces):
    found, is_word = word_states(*example(), word_pieces)
    np.testing.assert_array_equal(found[~is_word.numpy()], 0)


def test_a_mean_in_half_precision_is_summed_in_single():
    """In bfloat16 256 + 1 is 256 again: sums over the five pieces would lose four ones."""
    states = tf.constant([256.0, 1, 1, 1, 1], tf.bfloat16)[None, :, None]
    inputs = {"first_piece": tf.constant([[0]]), "last_piece": tf.constant([[4]])}
    found, _ = word_states(states, None, inputs, "mean")
    assert float(found[0, 0, 0]) == 52.0


@pytest.mark.parametrize("word_pieces", POOLINGS)
def test_gradients_reach_the_pieces_of_words_alone(word_pieces):
    states, mask, inputs = example()
    with tf.GradientTape() as tape:
        tape.watch(states)
        found, is_word = word_states(states, mask, inputs, word_pieces)
        loss = tf.reduce_sum(tf.boolean_mask(found, is_word))
    gradient = tf.convert_to_tensor(tape.gradient(loss, states)).numpy()
    expected = np.zeros_like(gradient)
    for number, row in enumerate(ROWS):
        for first, last in row:
            pieces = states[number, first : last + 1].numpy()
            expected[number, first : last + 1] += {
                "first": np.arange(len(pieces))[:, None] == [0] * 3,
                "last": np.arange(len(pieces))[:, None] == [len(pieces) - 1] * 3,
                "mean": np.full_like(pieces, 1 / len(pieces)),
                "max": pieces == pieces.max(0),
            }[word_pieces]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


@pytest.mark.parametrize("word_pieces", POOLINGS)
def test_compiled_by_xla_and_traced_for_any_sizes(word_pieces):
    states, mask, inputs = example()
    pooled = tf.function(
        lambda states, inputs: word_states(states, mask, inputs, word_pieces)[0],
        jit_compile=True,
    )
    is_word = inputs["first_piece"] >= 0
    expected = tf.boolean_mask(word_states(states, mask, inputs, word_pieces)[0], is_word)
    found = tf.boolean_mask(pooled(states, inputs), is_word)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("word_pieces", POOLINGS)
def test_batches_without_a_word(word_pieces):
    for rows in (0, 2):
        inputs = dict.fromkeys(("first_piece", "last_piece"), tf.zeros([rows, 0], tf.int32))
        found, is_word = word_states(tf.zeros([rows, 2, 3]), None, inputs, word_pieces)
        assert found.shape == (rows, 0, 3)
        assert is_word.shape == (rows, 0)


def test_the_one_state_of_a_word_is_each_of_the_poolings():
    states, mask, _ = example()
    for inputs in (None, {"character_ids": 0}):
        for word_pieces in POOLINGS:
            assert word_states(states, mask, inputs, word_pieces) == (states, mask)


def test_inputs_must_say_where_words_end():
    states, mask, inputs = example()
    first = {"first_piece": inputs["first_piece"]}
    assert word_states(states, mask, first)[0].shape == (3, 4, 3)
    for word_pieces in ("last", "mean", "max"):
        with pytest.raises(ConfigError, match="the inputs have no last_piece; make them with"):
            word_states(states, mask, first, word_pieces)
