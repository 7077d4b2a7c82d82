"""The activations of BERT by name."""

from keras import ops

ACTIVATIONS = {
    # The same name means two formulas; which one is a property of the weights' source.
    "gelu_exact": lambda x: ops.gelu(x, approximate=False),
    "gelu_tanh": lambda x: ops.gelu(x, approximate=True),
}
