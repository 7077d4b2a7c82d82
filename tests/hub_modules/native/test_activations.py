"""The activations and their gradients against SciPy, TensorFlow's own and PyTorch's formula."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import norm

from hub_modules.native.kernels.activations import ACTIVATIONS

X = np.concatenate([np.linspace(-12, 12, 4001), [0.0, -1e4, 1e4]])


def value_and_gradient(name, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = ACTIVATIONS[name](x)
    return y, tape.gradient(y, x, 3 * tf.ones_like(y))


def test_the_exact_form_is_x_times_the_normal_distribution():
    for graph in [True, False]:
        run = tf.function(value_and_gradient) if graph else value_and_gradient
        y, gradient = run("gelu_exact", tf.constant(X, tf.float32))
        np.testing.assert_allclose(y, X * norm.cdf(X), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(gradient, 3 * (norm.cdf(X) + X * norm.pdf(X)), atol=3e-6)


def test_the_approximation_is_tensorflows():
    x = tf.constant(X, tf.float32)
    np.testing.assert_array_equal(ACTIVATIONS["gelu_tanh"](x), tf.nn.gelu(x, approximate=True))


def test_the_approximation_rounds_once_in_half_precision():
    for dtype in ["bfloat16", "float16"]:
        x = tf.cast(X, dtype)
        y, gradient = value_and_gradient("gelu_tanh", x)
        assert (y.dtype, gradient.dtype) == (x.dtype, x.dtype)
        exact = ACTIVATIONS["gelu_tanh"](tf.cast(x, tf.float32))
        np.testing.assert_array_equal(y, tf.cast(exact, dtype))


def test_the_exact_form_in_half_precision():
    for dtype in ["bfloat16", "float16"]:
        x = tf.cast(X, dtype)
        y, gradient = value_and_gradient("gelu_exact", x)
        assert (y.dtype, gradient.dtype) == (x.dtype, x.dtype)
        given = tf.cast(x, tf.float64).numpy()
        step = 2.0 ** (
            -8 if dtype == "bfloat16" else -11
        )  # of a rounded number near 1, half of one
        error = np.abs(tf.cast(y, tf.float64) - given * norm.cdf(given))
        assert np.all(error <= 2 * step * np.abs(given))
        slope = norm.cdf(given) + given * norm.pdf(given)
        np.testing.assert_allclose(
            tf.cast(gradient, tf.float64), 3 * slope, rtol=2 * step, atol=1e-5
        )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_after_a_product_it_is_no_worse_than_alone(dtype):
    """Where oneDNN takes it into the product, and where it does not."""
    random = np.random.default_rng(0)
    states, kernel = (tf.cast(random.normal(size=shape), dtype) for shape in ((64, 96), (96, 128)))

    @tf.function(autograph=False)
    def run(states, kernel):
        return ACTIVATIONS["gelu_exact"](tf.matmul(states, kernel))

    product = tf.cast(states, tf.float64).numpy() @ tf.cast(kernel, tf.float64).numpy()
    step = 2.0 ** (-8 if dtype == "bfloat16" else -11)
    error = np.abs(tf.cast(run(states, kernel), tf.float64) - product * norm.cdf(product))
    assert np.all(error <= 4 * step * np.maximum(np.abs(product), 1))
