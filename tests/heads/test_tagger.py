"""The tagging heads by pencil: which state stands for a word, and what the CRF adds."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.heads.tagger import Tagger
from tf_adapt.tasks.tag_constraints import tag_constraints

STATES = np.arange(24, dtype="float32").reshape(2, 4, 3)
TEXT = {"layers": [np.zeros_like(STATES), STATES], "mask": np.ones((2, 4), "bool")}
PIECES = {"first_piece": np.array([[1, 3], [2, -1]], "int32")}


def identity_tagger(*arguments, **options):
    head = Tagger(3, **options)
    head(*arguments)
    head.dense.set_weights([np.eye(3), np.zeros(3)])
    return head, head(*arguments)


def test_a_word_is_its_first_piece():
    _, logits = identity_tagger([TEXT], PIECES)
    np.testing.assert_array_equal(logits[0], STATES[0, [1, 3]])
    np.testing.assert_array_equal(logits[1, 0], STATES[1, 2])
    assert np.isfinite(logits[1, 1]).all()


def test_without_pieces_a_word_is_its_own_state():
    np.testing.assert_array_equal(identity_tagger([TEXT])[1], STATES)
    inputs = {"character_ids": np.zeros((2, 4, 50), "int32")}
    np.testing.assert_array_equal(identity_tagger([TEXT], inputs)[1], STATES)


def test_a_mix_starts_as_the_mean_of_the_layers():
    _, logits = identity_tagger([TEXT], mixed=True)
    np.testing.assert_allclose(logits, STATES / 2)


def test_the_lstms_run_over_all_pieces():
    """A piece that is no word's first one reaches the words before and after it."""
    keras.utils.set_random_seed(0)
    head = Tagger(3, lstm_layers=2, units=4)
    before = head([TEXT], PIECES)
    states = STATES.copy()
    states[0, 2] += 1
    after = head([TEXT | {"layers": [states]}], PIECES)
    assert np.abs(after - before)[0].min() > 0
    np.testing.assert_array_equal(after[1], before[1])


def test_the_crf_decodes_the_words_alone():
    head, outputs = identity_tagger([TEXT], PIECES, crf=True)
    np.testing.assert_array_equal(outputs["logits"][0], STATES[0, [1, 3]])
    # Transitions that forbid staying in a tag, more than any logit weighs.
    head.chain.transitions.assign(-100.0 * np.eye(3))
    tags = head([TEXT], PIECES)["tags"]
    # Logits 3 4 5 then 9 10 11: best is 1 then 2, or 2 then 1; both score 15.
    assert sorted(tags[0].numpy()) == [1, 2]
    np.testing.assert_array_equal(tags[1], [2, -1])


def test_the_crfs_loss_and_probabilities_by_pencil():
    head, outputs = identity_tagger([TEXT], PIECES, crf=True)
    head.chain.transitions.assign(np.zeros((3, 3)))
    outputs = head([TEXT], PIECES)
    found = head.probabilities(outputs)
    # Without transitions the tags of a sentence are independent: 0, 1, 2 have softmax(0, 1, 2).
    probabilities = np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum()
    np.testing.assert_allclose(found[0], [probabilities] * 2, rtol=1e-5)
    np.testing.assert_allclose(found[1, 0], probabilities, rtol=1e-5)
    targets = np.array([[2, 0], [1, -1]])
    expected = -np.log(probabilities[[2, 0, 1]]).sum() / 2
    np.testing.assert_allclose(head.loss(targets, outputs), expected, rtol=1e-5)


def test_constraints_hold_where_the_logits_break_them():
    labels = ["O", "B-X", "I-X"]
    head = Tagger(3, crf=True, constraints=tag_constraints(labels, "IOB2"))
    head([TEXT], PIECES)
    head.dense.set_weights([np.eye(3), np.zeros(3)])
    head.chain.transitions.assign(np.zeros((3, 3)))
    tags = head([TEXT], PIECES)["tags"]
    assert [labels[tag] for tag in tags[0]] == ["B-X", "I-X"]
    assert labels[tags[1, 0]] == "B-X"


@pytest.mark.parametrize("crf", [False, True])
def test_a_batch_without_a_single_word(crf):
    head = Tagger(3, lstm_layers=1, units=2, crf=crf)
    text = {"layers": [tf.zeros([2, 3, 4])], "mask": tf.zeros([2, 3], "bool")}
    outputs = head([text], {"first_piece": tf.fill([2, 1], -1)})
    logits = outputs["logits"] if crf else outputs
    assert np.isfinite(logits).all()
    if crf:
        assert (outputs["tags"].numpy() == -1).all()
        assert float(head.loss(np.full((2, 1), -1), outputs)) == 0.0
