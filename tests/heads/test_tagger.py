"""The linear tagger by pencil: which state stands for a word."""

import keras
import numpy as np

from tf_adapt.heads.tagger import LinearTagger

STATES = np.arange(24, dtype="float32").reshape(2, 4, 3)
TEXT = {"layers": [np.zeros_like(STATES), STATES], "mask": np.ones((2, 4), "bool")}


def identity_tagger(*arguments):
    head = LinearTagger(3)
    head(*arguments)
    head.dense.set_weights([np.eye(3), np.zeros(3)])
    return head(*arguments)


def test_a_word_is_its_first_piece():
    first_piece = np.array([[1, 3], [2, -1]], "int32")
    logits = identity_tagger([TEXT], {"first_piece": first_piece})
    np.testing.assert_array_equal(logits[0], STATES[0, [1, 3]])
    np.testing.assert_array_equal(logits[1, 0], STATES[1, 2])
    assert np.isfinite(logits[1, 1]).all()


def test_without_pieces_a_word_is_its_own_state():
    np.testing.assert_array_equal(identity_tagger([TEXT]), STATES)
    inputs = {"character_ids": np.zeros((2, 4, 50), "int32")}
    np.testing.assert_array_equal(identity_tagger([TEXT], inputs), STATES)


def test_a_symbolic_call_builds_every_weight():
    text = {"layers": [keras.Input((None, 6))], "mask": keras.Input((None,), dtype="bool")}
    head = LinearTagger(5)
    pieces = {"first_piece": keras.Input((None,), dtype="int32")}
    assert head([text], pieces).shape == (None, None, 5)
    assert len(head.weights) == 2
