"""The activations of BERT by name, computed in float32 whatever the precision around them."""

import math

from keras import ops


@ops.custom_gradient
def gelu_exact(states):
    """`x Φ(x)`, Φ the normal distribution's: `x (1 + erf(x / √2)) / 2`.

    Half as long in float32, a third in half precision, as what `keras.ops.gelu` does with erfc; of
    its gradient, `Φ(x) + x φ(x)`, nothing but x is kept.

    Source: Hendrycks and Gimpel 2016, section 2.
    """

    def gradient(*arguments, upstream=None):
        upstream = arguments[0] if upstream is None else upstream
        x = ops.cast(states, "float32")
        density = ops.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        return upstream * ops.cast(_normal(x) + x * density, states.dtype)

    x = ops.cast(states, "float32")
    return ops.cast(x * _normal(x), states.dtype), gradient


def gelu_tanh(states):
    """`x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2`: Hendrycks and Gimpel's approximation."""
    return ops.cast(ops.gelu(ops.cast(states, "float32"), approximate=True), states.dtype)


def _normal(x):
    return 0.5 * (1.0 + ops.erf(x * math.sqrt(0.5)))


# The same name means two formulas; which one is a property of the weights' source.
ACTIVATIONS = {"gelu_exact": gelu_exact, "gelu_tanh": gelu_tanh}
