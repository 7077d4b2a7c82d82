"""The weights of a native encoder by name: listing and loading."""

import math
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from hub_modules.errors import ArtifactError


def weights_by_name(encoder: keras.layers.Layer, first: str) -> dict[str, keras.Variable]:
    """Names each weight by its path inside the encoder.

    Args:
        encoder: a built encoder.
        first: the name of one of its weights; the prefix before it in that weight's path belongs to
            the layers around the encoder.
    """
    prefix = next(w.path for w in encoder.weights if w.path.endswith(first)).removesuffix(first)
    return {weight.path.removeprefix(prefix): weight for weight in encoder.weights}


def as_keras_variable(variable: tf.Variable) -> keras.Variable:
    """A restored variable as a trainable weight; the variable stays the same."""
    name = variable.name.split(":")[0].replace("/", ".")
    return keras.Variable(variable, trainable=True, dtype=variable.dtype.name, name=name)


def is_trainable(layer: keras.layers.Layer, shared: Sequence[keras.Variable] = ()) -> bool:
    """Whether any weight of a layer, but for shared ones, is trainable; other layers run in
    inference mode."""
    left_out = set(map(id, shared))
    return any(weight.trainable for weight in layer.weights if id(weight) not in left_out)


def set_trainable(groups: list[tuple[str, list[keras.Variable]]], names: list[str]) -> None:
    """Makes the weights of the named layer groups trainable, and no others."""
    for name, weights in groups:
        for weight in weights:
            weight.trainable = name in names


def count_parameters(weights: list[keras.Variable]) -> int:
    """Total number of parameters of the weights."""
    return sum(math.prod(weight.shape) for weight in weights)


def load_weights_by_name(
    variables: dict[str, keras.Variable], arrays: dict[str, np.ndarray]
) -> None:
    """Sets every weight, or none.

    Raises:
        ArtifactError: a weight is missing, unknown, or of another shape.
    """
    missing = sorted(set(variables) - set(arrays))
    unknown = sorted(set(arrays) - set(variables))
    if missing or unknown:
        raise ArtifactError(
            f"weights do not fit the encoder: missing {missing[:5]} ({len(missing)} in all), "
            f"unknown {unknown[:5]} ({len(unknown)} in all); convert the module again"
        )
    for name, variable in variables.items():
        expected, got = tuple(variable.shape), np.shape(arrays[name])
        if expected != got:
            raise ArtifactError(
                f"weight {name}: expected shape {expected}, got {got}; convert the module again"
            )
    for name, variable in variables.items():
        variable.assign(arrays[name])
