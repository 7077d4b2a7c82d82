"""The head for span extraction, by hand."""

import numpy as np

from tf_adapt.heads.span_extractor import NEVER, SpanExtractor

# A word of two tokens after `[CLS] question [SEP]`, one of one token, and padding.
STATES = np.array([[[1, 0], [9, 9], [9, 9], [2, 1], [0, 3], [4, 4], [9, 9]]], "float32")
INPUTS = {
    "first_piece": np.array([[3, 5, -1]], "int32"),
    "last_piece": np.array([[4, 5, -1]], "int32"),
}


def encoded(*layers) -> list[dict]:
    return [{"layers": list(layers), "mask": np.ones(STATES.shape[:2], bool)}]


def test_a_word_begins_with_its_first_token_and_ends_with_its_last():
    head = SpanExtractor(dropout=0.0)
    head(encoded(STATES), INPUTS)
    head.dense.set_weights([np.array([[1.0, 10.0], [0.1, 1.0]]), np.array([0.5, 0.0])])
    expected = [[1.5, 10.0], [2.6, 3.0], [4.9, 44.0], [NEVER, NEVER]]
    np.testing.assert_allclose(head(encoded(STATES), INPUTS)[0], expected, rtol=1e-6)


def test_two_linear_layers():
    head = SpanExtractor(hidden_layer=True, dropout=0.0)
    head(encoded(STATES), INPUTS)
    head.hidden.set_weights([np.array([[1.0, -1.0], [0.0, 0.0]]), np.array([-1.0, 3.0])])
    head.dense.set_weights([np.array([[1.0, 2.0], [10.0, 20.0]]), np.zeros(2)])
    # relu(h₀ − 1), relu(3 − h₀): of the states 1, 2 and 0, 4.
    expected = [[20.0, 40.0], [11.0, 60.0], [3.0, 6.0], [NEVER, NEVER]]
    np.testing.assert_allclose(head(encoded(STATES), INPUTS)[0], expected, rtol=1e-6)


def test_a_mix_of_layers_starts_as_their_mean():
    head = SpanExtractor(mixed=True, dropout=0.0)
    head(encoded(STATES, 3 * STATES), INPUTS)
    top = SpanExtractor(dropout=0.0)
    top(encoded(2 * STATES), INPUTS)
    top.dense.set_weights(head.dense.get_weights())
    np.testing.assert_allclose(
        head(encoded(STATES, 3 * STATES), INPUTS), top(encoded(2 * STATES), INPUTS), rtol=1e-5
    )
