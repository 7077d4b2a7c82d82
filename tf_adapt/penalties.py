"""Penalties that keep an encoder close to its pretrained weights: L2-SP and EWC.

A penalty sits on the weights themselves, as their Keras regularizer, so that `fit` of any Keras
model adds it to the loss, once over all replicas. A weight that does not learn at the moment adds
nothing. Keras adds penalties to the loss of `evaluate` too.

They are terms of the loss: clipping counts their gradient in, and Adam divides it by its running
scale. Weight decay of the same optimizer pulls the pretrained weights towards zero, against them.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hub_modules.output_layers import BiLanguageModelHead, MaskedLanguageModelHead
from tf_adapt.errors import ConfigError
from tf_adapt.starting_point import StartingPoint, difference, kept_outside, pretrained_weights


def l2_sp(
    model: keras.Model,
    encoder: keras.layers.Layer,
    alpha: float = 0.1,
    beta: float = 0.01,
    start: StartingPoint | None = None,
) -> StartingPoint:
    """Adds `α/2 · ‖w − w⁰‖² + β/2 · ‖w_new‖²` to the model's loss, over the weights that learn.

    w are the encoder's pretrained weights, w_new all other weights of the model: head and adapters.
    A language model's output layer, which was pretrained too, is left free.
    As in the paper both are all parameters, biases and those of LayerNorms included; the authors'
    program has this as a variant, and by default counts kernels only. A second call replaces the
    first. An embedding's gradient becomes dense, as large as its table.

    Args:
        model: a built Keras model with the encoder in it: `build_model`'s, or one's own.
        encoder: a `HubEncoder`, or another layer with `layer_groups`.
        alpha: pull to w⁰, above 0. Default: the authors', who train with SGD at a rate of 0.01.
        beta: pull of the new weights to 0, at least 0.
        start: w⁰; by default the encoder's weights as they are now.

    Returns:
        w⁰, for another penalty or for its `distances`.

    Raises:
        ConfigError: a number is out of range, the model is not built or has not this encoder in
            it, or `start` is of another encoder.

    Source: Li, Grandvalet, Davoine 2018, "Explicit inductive bias for transfer learning with
    convolutional networks", section 3.
    """
    alpha = checked_strength("l2_sp.alpha", alpha)
    beta = checked_strength("l2_sp.beta", beta, lowest_is_zero=True)
    start = _checked_start(model, encoder, start)
    pretrained = {id(weight) for _, weights in start.groups for weight in weights}
    heads = (MaskedLanguageModelHead, BiLanguageModelHead)
    layers = [layer for layer in model._flatten_layers() if isinstance(layer, heads)]
    free = {id(weight) for layer in layers for weight in layer.weights}
    for weight in model.weights:
        if id(weight) in pretrained:
            penalty = functools.partial(_pull, strength=alpha, anchor=start.value_of(weight))
        elif beta and id(weight) not in free and keras.backend.is_float_dtype(weight.dtype):
            penalty = functools.partial(_pull, strength=beta, anchor=0.0)
        else:
            penalty = None
        _set_penalty(weight, "l2_sp", penalty)
    return start


def ewc(
    model: keras.Model,
    encoder: keras.layers.Layer,
    fisher: Mapping[str, np.ndarray],
    weight: float = 15.0,
    start: StartingPoint | None = None,
) -> StartingPoint:
    """Adds `λ/2 · Σ F · (w − w⁰)²` to the model's loss, over the encoder's weights that learn.

    With λ = 1 it is L2-SP-Fisher's term of the pretrained weights. A second call replaces the
    first.

    Args:
        model, encoder, start: as in `l2_sp`.
        fisher: F by the names of `pretrained_weights`, estimated where the weights are w⁰: see
            `tf_adapt.fisher`. A weight that is not named is free.
        weight: λ, above 0. Default: of a published program, whose F is the mean over examples;
            what is right depends on the scale of F.

    Returns:
        w⁰, for another penalty or for its `distances`.

    Raises:
        ConfigError: as `l2_sp`; or F has unknown names, another shape, or values that are negative
            or not finite.

    Source: Kirkpatrick et al. 2017, "Overcoming catastrophic forgetting in neural networks",
    equation 3.
    """
    factor = checked_strength("ewc.weight", weight)
    known = pretrained_weights(encoder)
    _check_fisher(fisher, known)
    start = _checked_start(model, encoder, start)
    for name, variable in known.items():
        penalty = None
        if name in fisher:
            strength = kept_outside(factor * np.asarray(fisher[name], "float32"), like=variable)
            penalty = functools.partial(_pull, strength=strength, anchor=start.value_of(variable))
        _set_penalty(variable, "ewc", penalty)
    return start


def checked_strength(where: str, value: Any, lowest_is_zero: bool = False) -> float:
    """A penalty's weight as a number.

    Raises:
        ConfigError: not a finite number above 0, or with `lowest_is_zero` of at least 0.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and math.isfinite(value) and (value > 0 or (lowest_is_zero and value == 0)):
        return float(value)
    expected = "of at least 0" if lowest_is_zero else "above 0; leave out a penalty without weight"
    raise ConfigError(f"{where}: expected a number {expected}, got {value!r}")


def _checked_start(
    model: keras.Model, encoder: keras.layers.Layer, start: StartingPoint | None
) -> StartingPoint:
    if not model.built:
        raise ConfigError("penalties: expected a built model, got one that was never called")
    inside = {id(weight) for weight in model.weights}
    if not all(id(weight) in inside for weight in encoder.weights):
        raise ConfigError("penalties: expected an encoder that is part of the model, got another")
    if start is not None and not start.is_of(encoder):
        raise ConfigError("start: expected the starting point of this encoder, got another's")
    # A step that is traced already would go on without the penalty.
    model.train_function = model.test_function = None
    return start or StartingPoint(encoder)


def _check_fisher(fisher: Mapping[str, np.ndarray], known: dict[str, keras.Variable]) -> None:
    unknown = sorted(set(fisher) - set(known))
    if unknown or not fisher:
        raise ConfigError(
            f"fisher: expected names of the encoder's weights, like {next(iter(known))!r}, got "
            f"{unknown[:5] or 'none'}; estimate it with this encoder"
        )
    for name, values in fisher.items():
        expected, got = tuple(known[name].shape), np.shape(values)
        if expected != got:
            raise ConfigError(
                f"fisher: {name}: expected shape {expected}, got {got}; "
                "estimate it with this encoder"
            )
        if not (np.all(np.isfinite(values)) and np.min(values) >= 0):
            raise ConfigError(
                f"fisher: {name}: expected finite numbers of at least 0, got others; "
                "estimate it in float32"
            )


class _Penalties(keras.regularizers.Regularizer):
    """A weight's regularizer: its penalties by kind, and the regularizer that it had before."""

    def __init__(self, own: Callable | None):
        self.own = own
        self.by_kind: dict[str, Callable] = {}

    def __call__(self, weight):
        losses = [penalty(weight) for penalty in self.by_kind.values()]
        if self.own is not None:
            losses.append(tf.cast(self.own(weight), losses[0].dtype))
        return tf.add_n(losses)


def _set_penalty(weight: keras.Variable, kind: str, penalty: Callable | None) -> None:
    penalties = weight.regularizer
    if not isinstance(penalties, _Penalties):
        penalties = _Penalties(own=penalties)
    penalties.by_kind.pop(kind, None)
    if penalty is not None:
        penalties.by_kind[kind] = penalty
    weight.regularizer = penalties if penalties.by_kind else penalties.own


def _pull(weight, strength, anchor):
    """`½ Σ strength · (weight − anchor)²`."""
    if isinstance(strength, float):
        return strength * tf.nn.l2_loss(difference(weight, anchor))
    return tf.reduce_sum(strength * tf.square(difference(weight, anchor))) / 2
