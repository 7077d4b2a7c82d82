"""LayerNorm in closed form: the numbers and gradients of Keras' own layer."""

import keras
import numpy as np
import tensorflow as tf

from hub_modules.native.kernels.convertible import convertible_operations
from hub_modules.native.kernels.layer_norm import LayerNorm


def both(shape, dtype="float32"):
    """Both layers with the same weights, states and a gradient from above."""
    random = np.random.default_rng(0)
    layers = [
        cls(epsilon=1e-12, dtype=dtype) for cls in (LayerNorm, keras.layers.LayerNormalization)
    ]
    weights = [random.normal(size=shape[-1]) for _ in range(2)]
    for layer in layers:
        layer.build((None, shape[-1]))
        layer.set_weights(weights)
    numbers = [tf.constant(random.normal(2.0, 3.0, shape), tf.float32) for _ in range(2)]
    return layers, *numbers


def run(layer, states, upstream):
    states = tf.cast(states, layer.compute_dtype)
    with tf.GradientTape() as tape:
        tape.watch(states)
        outputs = layer(states)
    sources = [states, *(weight.value for weight in layer.trainable_weights)]
    return [outputs, *tape.gradient(outputs, sources, tf.cast(upstream, outputs.dtype))]


def test_outputs_and_gradients_are_those_of_keras():
    for in_graph in [True, False]:
        for shape in [(5, 8), (2, 3, 8), (1, 1, 384)]:
            layers, *numbers = both(shape)
            ours, theirs = (
                (tf.function(run) if in_graph else run)(layer, *numbers) for layer in layers
            )
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_half_precision_is_computed_in_float32():
    layers, *numbers = both((4, 16), "mixed_bfloat16")
    for one, other in zip(*(run(layer, *numbers) for layer in layers), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(
            tf.cast(one, tf.float32), tf.cast(other, tf.float32), rtol=0.02, atol=0.02
        )


def test_equal_numbers_in_a_row_give_beta():
    layers, _, _ = both((2, 8))
    assert LayerNorm.from_config(layers[0].get_config()).epsilon == 1e-12
    np.testing.assert_allclose(layers[0](tf.fill([2, 8], 3.0))[0], layers[0].beta, atol=1e-6)


def test_compiled_by_xla():
    layers, *numbers = both((3, 8))
    compiled = tf.function(run, jit_compile=True)(layers[0], *numbers)
    for one, other in zip(compiled, run(layers[0], *numbers), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_convertible_operations_give_the_same_numbers():
    (layer, theirs), states, _ = both((2, 3, 8))
    with convertible_operations():
        np.testing.assert_allclose(layer(states), theirs(states), rtol=1e-5, atol=1e-5)
