"""LoRA: a product of two narrow matrices beside a frozen kernel, into which it can be merged."""

import contextlib
import math
from collections.abc import Iterator

import keras
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig


@keras.saving.register_keras_serializable("hub_modules")
class LowRank(ArgumentsInConfig, keras.layers.Layer):
    """`(alpha / rank) x A B`: zero at first, for B is.

    A is uniform within ±1 / √inputs (Kaiming's initialisation with a = √5).

    Shapes: `[rows, inputs]` → `[rows, outputs]`; `a` `[inputs, rank]`, `b` `[rank, outputs]`.

    Masking: none needed, positions do not interact.

    Attributes:
        merged: whether the kernel beside it holds the product; a call then must not add it.

    Source: Hu et al. 2021, section 4.1; the initialisation of microsoft/LoRA and PEFT.
    """

    def __init__(self, inputs: int, outputs: int, rank: int, alpha: float, **kwargs):
        super().__init__(**kwargs)
        self.inputs = inputs
        self.outputs = outputs
        self.rank = rank
        self.alpha = alpha
        self.merged = False

    def build(self, input_shape=None):
        bound = 1 / math.sqrt(self.inputs)
        self.a = self.add_weight(
            name="a",
            shape=(self.inputs, self.rank),
            initializer=keras.initializers.RandomUniform(-bound, bound),
        )
        self.b = self.add_weight(name="b", shape=(self.rank, self.outputs), initializer="zeros")

    def call(self, rows):
        return ops.matmul(ops.matmul(rows, self.a), self.b) * (self.alpha / self.rank)

    def product(self):
        """`(alpha / rank) A B`, `[inputs, outputs]` float32."""
        a, b = (ops.convert_to_tensor(weight.value) for weight in (self.a, self.b))
        return ops.matmul(a, b) * (self.alpha / self.rank)


def add_low_rank(
    dense: keras.layers.Dense | keras.layers.EinsumDense, rank: int, alpha: float, name: str
) -> LowRank:
    """Gives a built linear layer a `LowRank`, whose output is added before bias and activation.

    An `EinsumDense` kernel counts as two-dimensional: the axes that are summed over times the
    others. The layer's own names, weights and config stay as they are.

    Raises:
        ValueError: the kernel of an `EinsumDense` does not begin with the inputs' last axes.
    """
    axes = _summed_axes(dense)
    shape = tuple(dense.kernel.shape)
    inputs = math.prod(shape[:axes])
    low_rank = LowRank(
        inputs, math.prod(shape[axes:]), rank, alpha, name=name, dtype=dense.dtype_policy
    )
    low_rank.build()
    # As Keras' own `enable_lora`: a built layer takes no new parts otherwise.
    dense._tracker.unlock()
    dense.low_rank = low_rank
    dense._tracker.lock()

    plain = dense.call

    def call(states, training=None):
        if low_rank.merged:
            return plain(states, training=training)
        if isinstance(dense, keras.layers.EinsumDense):
            outputs = ops.einsum(dense.equation, states, dense.kernel)
        else:
            outputs = ops.matmul(states, dense.kernel)
        added = low_rank(ops.reshape(states, (-1, inputs)))
        outputs = ops.add(outputs, ops.reshape(added, ops.shape(outputs)))
        outputs = outputs if dense.bias is None else ops.add(outputs, dense.bias)
        return outputs if dense.activation is None else dense.activation(outputs)

    dense.call = call
    return low_rank


def _summed_axes(dense) -> int:
    """Number of leading axes of a kernel that are summed over."""
    if not isinstance(dense, keras.layers.EinsumDense):
        return 1
    operands, output = dense.equation.replace(" ", "").split("->")
    states, kernel = operands.split(",")
    summed = "".join(axis for axis in kernel if axis not in output)
    if not summed or not kernel.startswith(summed) or not states.endswith(summed):
        raise ValueError(
            f"equation: expected a kernel that begins with the last axes of the inputs, got "
            f"{dense.equation!r}"
        )
    return len(summed)


def low_rank_layers(layer: keras.layers.Layer) -> list[LowRank]:
    """Every `LowRank` inside a layer, bottom to top."""
    return [part.low_rank for part in with_low_rank(layer)]


@contextlib.contextmanager
def merged(layer: keras.layers.Layer) -> Iterator[None]:
    """Inside, kernels hold `W + (alpha / rank) A B` and nothing is added to their outputs.

    A graph that is traced inside has the operations of a layer without LoRA. Afterwards the kernels
    have their own values again, bit by bit.
    """
    parts = with_low_rank(layer)
    kernels = [part.kernel.numpy() for part in parts]
    try:
        for part, kernel in zip(parts, kernels, strict=True):
            part.kernel.assign(kernel + ops.reshape(part.low_rank.product(), kernel.shape))
            part.low_rank.merged = True
        yield
    finally:
        for part, kernel in zip(parts, kernels, strict=True):
            part.kernel.assign(kernel)
            part.low_rank.merged = False


def with_low_rank(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    """Every linear layer inside a layer that has a `LowRank`, bottom to top."""
    return [part for part in layer._flatten_layers() if hasattr(part, "low_rank")]
