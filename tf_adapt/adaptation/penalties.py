"""Penalties that keep an encoder close to its pretrained weights: L2-SP and EWC.

A penalty is the Keras regularizer of each weight, so `fit` of any Keras model adds it to the loss,
once over all replicas. Frozen weights add nothing. Keras adds penalties to the loss of `evaluate`
too.

Penalties are terms of the loss: clipping includes their gradient, and Adam normalises it. Weight
decay of the same optimizer works against them: it pulls the pretrained weights towards zero.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hub_modules.output_files import OutputLayer
from tf_adapt.encoder.starting_point import (
    StartingPoint,
    kept_outside,
    minus_anchor,
    pretrained_weights,
)
from tf_adapt.errors import ConfigError


def l2_sp(
    model: keras.Model,
    encoder: keras.layers.Layer,
    alpha: float = 0.1,
    beta: float = 0.01,
    start: StartingPoint | None = None,
) -> StartingPoint:
    """Adds `α/2 · ‖w − w⁰‖² + β/2 · ‖w_new‖²` over the trainable weights to the model's loss.

    w are the encoder's pretrained weights, w_new all other weights of the model: head and adapters.
    A language model's output layer, which is pretrained too, has no penalty. As in the paper both
    include biases and the parameters of LayerNorms; the authors' code has this as a variant, its
    default is kernels only. A second call replaces the first. An embedding's gradient becomes
    dense, as large as its table.

    Args:
        model: a built Keras model that contains the encoder: from `build_model`, or your own.
        encoder: a `HubEncoder`, or another layer with `layer_groups`.
        alpha: strength for w, above 0. Default: the authors', for SGD at a rate of 0.01.
        beta: strength for w_new, at least 0.
        start: w⁰; by default the encoder's current weights.

    Returns:
        w⁰, for another penalty or for its `distances`.

    Raises:
        ConfigError: a number is out of range, the model is not built or does not contain this
            encoder, `start` is of another encoder, or the model's topmost layers began from random
            weights (`reinitialise`) and w⁰ is left out.

    Source: Li, Grandvalet, Davoine 2018, "Explicit inductive bias for transfer learning with
    convolutional networks", section 3.
    """
    alpha = checked_strength("l2_sp.alpha", alpha)
    beta = checked_strength("l2_sp.beta", beta, lowest_is_zero=True)
    start = _checked_start(model, encoder, start)
    pretrained = {id(weight) for _, weights in start.groups for weight in weights}
    layers = [layer for layer in model._flatten_layers() if isinstance(layer, OutputLayer)]
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
    """Adds `λ/2 · Σ F · (w − w⁰)²` over the encoder's trainable weights to the model's loss.

    With λ = 1 it is L2-SP-Fisher's term for the pretrained weights. Online EWC's penalty is
    `λ/2 · γ · Σ F* · (w − w⁰)²`, with F* of `tf_adapt.adaptation.fisher.accumulated_fisher`: the
    factor γ before the sum is left to λ. A second call replaces the first.

    Args:
        model, encoder, start: as in `l2_sp`.
        fisher: F by the names of `pretrained_weights`, estimated at w⁰: see
            `tf_adapt.adaptation.fisher`. Weights that are not named have no penalty.
        weight: λ, above 0. Default: that of a published implementation whose F is the mean over
            examples; the right value depends on the scale of F.

    Returns:
        w⁰, for another penalty or for its `distances`.

    Raises:
        ConfigError: as `l2_sp`; or F has unknown names, a wrong shape, or values that are negative
            or not finite.

    Source: Kirkpatrick et al. 2017, "Overcoming catastrophic forgetting in neural networks",
    equation 3.
    """
    factor = checked_strength("ewc.weight", weight)
    known = pretrained_weights(encoder)
    check_fisher(fisher, known)
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
        ConfigError: not a finite number above 0, with `lowest_is_zero` at least 0.
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
    drawn = getattr(getattr(model, "adaptation", None), "reinitialised", 0)
    if start is None and drawn:
        raise ConfigError(
            "penalties: expected an adaptation without reinitialise, which makes w⁰ of the topmost "
            f"layers random, got {drawn}; leave it out, or give w⁰ as start=ta.StartingPoint(…)"
        )
    # A step that is traced already has no such penalty.
    model.train_function = model.test_function = None
    return start or StartingPoint(encoder)


def check_fisher(fisher: Mapping[str, np.ndarray], known: Mapping[str, keras.Variable]) -> None:
    """Checks the arrays of a Fisher information against an encoder's pretrained weights by name.

    Raises:
        ConfigError: unknown names, a wrong shape, or values that are negative or not finite.
    """
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
    """A weight's regularizer: its penalties by kind, plus the regularizer it had before."""

    def __init__(self, previous: Callable | None):
        self.previous = previous
        self.by_kind: dict[str, Callable] = {}

    def __call__(self, weight):
        losses = [penalty(weight) for penalty in self.by_kind.values()]
        if self.previous is not None:
            losses.append(tf.cast(self.previous(weight), losses[0].dtype))
        return tf.add_n(losses)


def _set_penalty(weight: keras.Variable, kind: str, penalty: Callable | None) -> None:
    penalties = weight.regularizer
    if not isinstance(penalties, _Penalties):
        penalties = _Penalties(previous=penalties)
    penalties.by_kind.pop(kind, None)
    if penalty is not None:
        penalties.by_kind[kind] = penalty
    weight.regularizer = penalties if penalties.by_kind else penalties.previous


def _pull(weight, strength, anchor):
    """`½ Σ strength · (weight − anchor)²`."""
    if isinstance(strength, float):
        return strength * tf.nn.l2_loss(minus_anchor(weight, anchor))
    return tf.reduce_sum(strength * tf.square(minus_anchor(weight, anchor))) / 2
