"""The max-pooling head by pencil."""

import numpy as np
import pytest

from tf_adapt.heads.max_pooling import MaxPoolingHead

STATES = np.array([[[1.0, -5.0], [3.0, -4.0], [9.0, 9.0]], [[7.0, 7.0]] * 3], "float32")
MASK = np.array([[True, True, False], [False, False, False]])


def encoded(states, mask=MASK):
    return {"layers": [np.zeros_like(states), states], "mask": mask}


def test_regression_gives_one_number_an_example():
    head = MaxPoolingHead(1, regression=True)
    assert head([encoded(STATES)]).shape == (2,)
    head.dense.set_weights([np.array([[1.0], [2.0]]), np.array([0.5])])
    np.testing.assert_array_equal(head([encoded(STATES)]), [-4.5, 0.5])


@pytest.mark.parametrize(
    ("compared", "features"), [(True, [3, -4, 6, -8, 3, 4, 18, 32]), (False, [3, -4, 6, -8])]
)
def test_two_texts_use_their_features_side_by_side(compared, features):
    head = MaxPoolingHead(3, pair=True, compared=compared)
    texts = [encoded(STATES), encoded(STATES * 2)]
    head(texts)
    kernel = np.arange(3.0 * len(features)).reshape(-1, 3)
    head.dense.set_weights([kernel, np.zeros(3)])
    np.testing.assert_array_equal(head(texts), np.array([features, [0] * len(features)]) @ kernel)


def test_special_tokens_are_not_pooled():
    """The texts of a pair that BERT read as one row: [CLS] a [SEP] b [SEP]."""
    row = np.array([[[90.0], [1.0], [91.0], [2.0], [92.0]]], "float32")
    inputs = {
        "input_mask": np.ones((1, 5), "int32"),
        "input_type_ids": np.array([[0, 0, 0, 1, 1]], "int32"),
    }
    head = MaxPoolingHead(2, pair=True, compared=False)
    texts = [encoded(row, np.ones((1, 5), bool))]
    head(texts, inputs)
    head.dense.set_weights([np.eye(2), np.zeros(2)])
    np.testing.assert_array_equal(head(texts, inputs), [[1.0, 2.0]])


def test_a_mix_starts_as_the_mean_of_the_layers():
    head = MaxPoolingHead(2, mixed=True)
    head([encoded(STATES)])
    head.dense.set_weights([np.eye(2), np.zeros(2)])
    np.testing.assert_allclose(head([encoded(STATES)]), [[1.5, -2.0], [0.0, 0.0]])
