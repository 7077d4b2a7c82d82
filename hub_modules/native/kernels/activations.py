"""The activations of BERT by name, and their gradients in float32 whatever the precision."""

import math

from keras import ops

from hub_modules.native.kernels.custom_gradients import custom_gradient


@custom_gradient
def gelu_exact(states):
    """`x Φ(x)`, Φ the normal distribution's: `x (1 + erf(x / √2)) / 2`.

    Twice as fast in float32 as `keras.ops.gelu`, which uses erfc; for the gradient
    `Φ(x) + x φ(x)` only x is kept. In half-precision inference oneDNN fuses exactly these
    operations, in float32, with the matrix product before them; casts between them would prevent
    the fusion.

    Source: Hendrycks and Gimpel 2016, section 2.
    """

    def gradient(*arguments, upstream=None):
        upstream = arguments[0] if upstream is None else upstream
        x = ops.cast(states, "float32")
        density = ops.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        normal = 0.5 * (1.0 + ops.erf(x * math.sqrt(0.5)))
        return upstream * ops.cast(normal + x * density, states.dtype)

    half_root = ops.cast(math.sqrt(0.5), states.dtype)
    return 0.5 * states * (1.0 + ops.erf(states * half_root)), gradient


def gelu_tanh(states):
    """`x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2`: Hendrycks and Gimpel's approximation."""
    return ops.cast(ops.gelu(ops.cast(states, "float32"), approximate=True), states.dtype)


# "gelu" names either formula; the source of the weights decides which one.
ACTIVATIONS = {"gelu_exact": gelu_exact, "gelu_tanh": gelu_tanh}
