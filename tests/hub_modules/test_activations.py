"""The activations and their gradients against SciPy, TensorFlow's own and PyTorch's formula."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import norm

from hub_modules.activations import ACTIVATIONS

X = np.concatenate([np.linspace(-12, 12, 4001), [0.0, -1e4, 1e4]])


def value_and_gradient(name, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = ACTIVATIONS[name](x)
    return y, tape.gradient(y, x, 3 * tf.ones_like(y))


@pytest.mark.parametrize("graph", [True, False])
def test_the_exact_form_is_x_times_the_normal_distribution(graph):
    run = tf.function(value_and_gradient) if graph else value_and_gradient
    y, gradient = run("gelu_exact", tf.constant(X, tf.float32))
    np.testing.assert_allclose(y, X * norm.cdf(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gradient, 3 * (norm.cdf(X) + X * norm.pdf(X)), atol=3e-6)


def test_the_approximation_is_tensorflows():
    x = tf.constant(X, tf.float32)
    np.testing.assert_array_equal(ACTIVATIONS["gelu_tanh"](x), tf.nn.gelu(x, approximate=True))


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_rounds_once(name, dtype):
    x = tf.cast(X, dtype)
    y, gradient = value_and_gradient(name, x)
    assert (y.dtype, gradient.dtype) == (x.dtype, x.dtype)
    exact = ACTIVATIONS[name](tf.cast(x, tf.float32))
    np.testing.assert_array_equal(
        tf.cast(y, tf.float32), tf.cast(tf.cast(exact, dtype), tf.float32)
    )
