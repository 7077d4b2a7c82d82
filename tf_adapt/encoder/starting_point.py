"""Copies of an encoder's pretrained weights before training, and the distances to them."""

import contextlib
import math

import keras
import numpy as np
import tensorflow as tf

from hub_modules.native.added.lora import merged


class StartingPoint:
    """A copy of an encoder's pretrained weights: w⁰ of the penalties.

    Create it after the pretrained weights are loaded, before training and before a checkpoint is
    restored. The copies are not part of the model: they are neither saved nor restored with it.
    They need as much memory as the weights, on each device.

    Args:
        encoder: a `HubEncoder`, or another layer with `layer_groups`; its adapters are left out.

    Attributes:
        groups: [(name, weights)], bottom to top.
    """

    def __init__(self, encoder: keras.layers.Layer):
        self.groups = pretrained_groups(encoder)
        self._values = {
            id(weight): kept_outside(weight.numpy(), like=weight)
            for _, weights in self.groups
            for weight in weights
        }
        self._distances = tf.function(self._group_distances, autograph=False)

    def value_of(self, weight: keras.Variable) -> tf.Variable:
        """w⁰ of a weight."""
        return self._values[id(weight)]

    def move_here(self) -> None:
        """Sets w⁰ to the current weights."""
        for _, weights in self.groups:
            for weight in weights:
                self._values[id(weight)].assign(weight.value)

    def is_of(self, encoder: keras.layers.Layer) -> bool:
        """Whether these are copies of this encoder's weights."""
        groups = pretrained_groups(encoder)
        return {id(weight) for _, weights in groups for weight in weights} == set(self._values)

    def distances(self) -> dict[str, float]:
        """`‖w − w⁰‖₂` over all weights of each layer group, bottom to top."""
        names = [name for name, _ in self.groups]
        return dict(zip(names, self._distances().numpy().tolist(), strict=True))

    def relative_distances(self) -> dict[str, float]:
        """`‖w − w⁰‖₂ / ‖w⁰‖₂` over each layer group, and `all`; groups without length are left
        out. Weights that LoRA or adapters add do not count."""
        squares = {
            name: sum(float(tf.nn.l2_loss(self.value_of(weight))) for weight in weights)
            for name, weights in self.groups
        }
        moved = {name: distance**2 / 2 for name, distance in self.distances().items()}
        squares["all"], moved["all"] = sum(squares.values()), sum(moved.values())
        return {name: math.sqrt(moved[name] / size) for name, size in squares.items() if size}

    def _group_distances(self):
        half_squares = [
            tf.add_n([tf.nn.l2_loss(minus_anchor(w, self.value_of(w))) for w in weights])
            for _, weights in self.groups
        ]
        return tf.sqrt(2 * tf.stack(half_squares))


def pretrained_groups(encoder: keras.layers.Layer) -> list[tuple[str, list[keras.Variable]]]:
    """An encoder's layer groups without the weights of its adapters.

    The LayerNorms that are trained with BERT's adapters stay, in the group `adapters`.
    """
    layers = getattr(getattr(encoder, "encoder", encoder), "adapter_layers", ())
    new = {id(weight) for layer in layers for weight in layer.weights}
    groups = [
        (name, [weight for weight in weights if id(weight) not in new])
        for name, weights in encoder.layer_groups
    ]
    return [(name, weights) for name, weights in groups if weights]


def pretrained_weights(encoder: keras.layers.Layer) -> dict[str, keras.Variable]:
    """An encoder's pretrained weights by name, such as `layer_0/attention/query/kernel`."""
    pretrained = {id(weight) for _, weights in pretrained_groups(encoder) for weight in weights}
    program = getattr(encoder, "encoder", encoder)
    named = getattr(program, "weights_by_name", None)
    weights = named() if named else {weight.path: weight for weight in program.weights}
    return {name: weight for name, weight in weights.items() if id(weight) in pretrained}


def relative_distances(encoder: keras.layers.Layer, start: keras.layers.Layer) -> dict[str, float]:
    """`‖w − w⁰‖₂ / ‖w⁰‖₂` over the pretrained weights of each of the start's layer groups, and
    `all`: over all of them.

    Groups without length (‖w⁰‖ = 0) are left out. LoRA counts as the kernels that it makes;
    adapters, which have no w⁰, do not count.

    Args:
        encoder, start: encoders of one module; the start has neither adapters nor LoRA.
    """
    names = {id(weight): name for name, weight in pretrained_weights(start).items()}
    squares, moved = {}, {}
    with merged(getattr(encoder, "encoder", encoder)):
        now = pretrained_weights(encoder)
        for group, weights in pretrained_groups(start):
            before = [weight.numpy().astype("float64") for weight in weights]
            after = [now[names[id(weight)]].numpy() for weight in weights]
            squares[group] = sum(float(np.square(w).sum()) for w in before)
            pairs = zip(after, before, strict=True)
            moved[group] = sum(float(np.square(w - w0).sum()) for w, w0 in pairs)
    squares["all"], moved["all"] = sum(squares.values()), sum(moved.values())
    return {name: math.sqrt(moved[name] / size) for name, size in squares.items() if size}


def minus_anchor(weight, anchor):
    """`weight − anchor`, at least in float32."""
    weight = tf.convert_to_tensor(weight)
    dtype = keras.backend.result_type(weight.dtype.name, "float32")
    return tf.cast(weight, dtype) - tf.cast(anchor, dtype)


def kept_outside(values: np.ndarray, like: keras.Variable) -> tf.Variable:
    """A variable on the devices of `like` that Keras does not track.

    A constant would be copied into each graph that uses it.
    """
    strategy = getattr(like.value, "distribute_strategy", None)
    with strategy.scope() if strategy else contextlib.nullcontext():
        return tf.Variable(values, trainable=False)
