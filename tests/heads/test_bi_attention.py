"""The bi-attention head against NumPy, for texts encoded apart and in one row."""

import numpy as np
import pytest

from tf_adapt.heads.bi_attention import BiAttentionHead

RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(2, 4, 3)).astype("float32")
B = RANDOM.normal(size=(2, 5, 3)).astype("float32")
LENGTHS = ((4, 2), (3, 5))


def text(states, lengths):
    mask = np.arange(states.shape[1]) < np.array(lengths)[:, None]
    return {"layers": [np.zeros_like(states), states], "mask": mask}


def expected_features(a, b):
    """For one pair without padding, in float64."""
    scores = a.astype("float64") @ b.T
    to_b = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    to_a = np.exp(scores.T) / np.exp(scores.T).sum(1, keepdims=True)
    parts = []
    for own, other in ((a, to_b @ b), (b, to_a @ a)):
        matched = np.concatenate([own, other, own - other, own * other], axis=1)
        parts += [matched.mean(0), matched.max(0)]
    return np.concatenate(parts)


def logits_of(head, *arguments):
    head(*arguments)
    kernel = np.random.default_rng(1).normal(size=head.dense.kernel.shape)
    head.dense.set_weights([kernel, np.zeros(head.num_outputs)])
    return head(*arguments), kernel


def test_nothing_but_the_last_layer_learns():
    head = BiAttentionHead(2)
    head([text(A, LENGTHS[0]), text(B, LENGTHS[1])])
    assert [tuple(weight.shape) for weight in head.weights] == [(48, 2), (2,)]


def test_logits_are_those_of_numpy():
    logits, kernel = logits_of(BiAttentionHead(3), [text(A, LENGTHS[0]), text(B, LENGTHS[1])])
    for row in range(2):
        a, b = A[row, : LENGTHS[0][row]], B[row, : LENGTHS[1][row]]
        np.testing.assert_allclose(logits[row], expected_features(a, b) @ kernel, rtol=1e-4)


def test_a_joint_row_gives_what_its_two_texts_give():
    a, b = A[0, :2], B[0, :3]
    junk = np.full((1, 3), 50.0, "float32")
    row = np.concatenate([junk, a, junk, b, junk])[None]
    inputs = {
        "input_mask": np.ones((1, 8), "int32"),
        "input_type_ids": np.array([[0, 0, 0, 0, 1, 1, 1, 1]], "int32"),
    }
    head = BiAttentionHead(1, regression=True)
    logits, kernel = logits_of(head, [text(row, [8])], inputs)
    assert logits.shape == (1,)
    np.testing.assert_allclose(logits[0], expected_features(a, b) @ kernel[:, 0], rtol=1e-4)


@pytest.mark.parametrize("mixed", [False, True])
def test_a_text_without_words_gives_finite_logits(mixed):
    head = BiAttentionHead(2, mixed=mixed)
    assert np.isfinite(head([text(A, [4, 0]), text(B, [0, 0])])).all()


def test_a_mix_starts_as_the_mean_of_the_layers():
    texts = [text(A, LENGTHS[0]), text(B, LENGTHS[1])]
    halves = [text(A / 2, LENGTHS[0]), text(B / 2, LENGTHS[1])]
    mixed, top = BiAttentionHead(2, mixed=True), BiAttentionHead(2)
    for head in (mixed, top):
        head(texts)
        head.dense.set_weights([np.ones((48, 2)), np.zeros(2)])
    np.testing.assert_allclose(mixed(texts), top(halves), rtol=1e-5)
