"""The linear head by pencil."""

import keras
import numpy as np
import pytest

from tf_adapt.heads.linear import LinearHead

TEXT = {
    "layers": [np.zeros((2, 3, 2), "float32")],
    "mask": np.ones((2, 3), bool),
    "pooled": np.array([[1.0, 2.0], [0.0, 1.0]], "float32"),
}


def test_logits_of_the_pooled_vector_by_pencil():
    head = LinearHead(2, dropout=0.5)
    head([TEXT])
    head.dense.set_weights([np.array([[1.0, 0.0], [10.0, 100.0]]), np.array([0.5, 0.25])])
    np.testing.assert_array_equal(head([TEXT]), [[21.5, 200.25], [10.5, 100.25]])


def test_regression_gives_one_number_an_example():
    head = LinearHead(1, regression=True)
    head([TEXT])
    head.dense.set_weights([np.array([[1.0], [2.0]]), np.array([0.5])])
    np.testing.assert_array_equal(head([TEXT]), [5.5, 2.5])


def test_initialisation_is_that_of_bert():
    keras.utils.set_random_seed(0)
    head = LinearHead(50)
    head([{"pooled": np.zeros([1, 400], "float32"), "layers": [], "mask": TEXT["mask"]}])
    kernel, bias = head.dense.get_weights()
    np.testing.assert_array_equal(bias, 0)
    assert abs(kernel).max() <= 0.04  # cut off at two standard deviations
    # A normal distribution cut off there has 0.88 of the standard deviation.
    assert kernel.std() == pytest.approx(0.02 * 0.88, rel=0.02)
