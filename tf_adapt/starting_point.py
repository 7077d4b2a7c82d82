"""What an encoder's pretrained weights were before training, and how far they are from it."""

import contextlib

import keras
import numpy as np
import tensorflow as tf


class StartingPoint:
    """The pretrained weights of an encoder as they are now: w⁰ of the penalties.

    Make it after the pretrained weights are loaded, before any training and before a checkpoint is
    restored. The copies are no part of the model: they are neither saved nor restored with it, and
    take the memory of the weights once more, on each device.

    Args:
        encoder: a `HubEncoder`, or another layer with `layer_groups`; its adapters do not count.

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
        self._distances = tf.function(self._group_distances)

    def value_of(self, weight: keras.Variable) -> tf.Variable:
        """w⁰ of a weight."""
        return self._values[id(weight)]

    def move_here(self) -> None:
        """Makes the weights as they are now the starting point."""
        for _, weights in self.groups:
            for weight in weights:
                self._values[id(weight)].assign(weight.value)

    def is_of(self, encoder: keras.layers.Layer) -> bool:
        """Whether it holds the weights of this encoder."""
        groups = pretrained_groups(encoder)
        return {id(weight) for _, weights in groups for weight in weights} == set(self._values)

    def distances(self) -> dict[str, float]:
        """`‖w − w⁰‖₂` over all weights of each layer group, bottom to top."""
        names = [name for name, _ in self.groups]
        return dict(zip(names, self._distances().numpy().tolist(), strict=True))

    def _group_distances(self):
        half_squares = [
            tf.add_n([tf.nn.l2_loss(difference(w, self.value_of(w))) for w in weights])
            for _, weights in self.groups
        ]
        return tf.sqrt(2 * tf.stack(half_squares))


def pretrained_groups(encoder: keras.layers.Layer) -> list[tuple[str, list[keras.Variable]]]:
    """An encoder's layer groups without the weights of its adapters.

    The LayerNorms that train with a BERT's adapters stay, under the name of that group.
    """
    layers = getattr(getattr(encoder, "encoder", encoder), "adapter_layers", ())
    new = {id(weight) for layer in layers for weight in layer.weights}
    groups = [
        (name, [weight for weight in weights if id(weight) not in new])
        for name, weights in encoder.layer_groups
    ]
    return [(name, weights) for name, weights in groups if weights]


def pretrained_weights(encoder: keras.layers.Layer) -> dict[str, keras.Variable]:
    """An encoder's pretrained weights by name, as `layer_0/attention/query/kernel`."""
    pretrained = {id(weight) for _, weights in pretrained_groups(encoder) for weight in weights}
    program = getattr(encoder, "encoder", encoder)
    named = getattr(program, "weights_by_name", None)
    weights = named() if named else {weight.path: weight for weight in program.weights}
    return {name: weight for name, weight in weights.items() if id(weight) in pretrained}


def difference(weight, anchor):
    """`weight − anchor`, in float32 at least."""
    weight = tf.convert_to_tensor(weight)
    dtype = keras.backend.result_type(weight.dtype.name, "float32")
    return tf.cast(weight, dtype) - tf.cast(anchor, dtype)


def kept_outside(values: np.ndarray, like: keras.Variable) -> tf.Variable:
    """A variable on the devices of `like` that Keras does not know of.

    As a constant it would be copied into each graph that reads it.
    """
    strategy = getattr(like.value, "distribute_strategy", None)
    with strategy.scope() if strategy else contextlib.nullcontext():
        return tf.Variable(values, trainable=False)
