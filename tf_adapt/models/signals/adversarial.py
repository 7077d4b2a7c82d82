"""Perturbations of embeddings: that which changes a prediction most (virtual adversarial training),
and noise."""

from collections.abc import Callable

import tensorflow as tf

from hub_modules.native.given_states import PERTURBATION
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.tasks.divergences import divergence, with_outcomes
from tf_adapt.tasks.task import Task

# With unit-variance embeddings of width 256 and 400 words, the source's ε = 5 is 0.016 of their
# norm, and ξ = 0.1 is ε / 50.
EPSILON = 0.02
# Of noise, most of which does not matter for a prediction: our choice.
NOISE = 0.1
_STEP_SHARE = 1 / 50


def adversarial_perturbations(
    task: Task,
    texts: dict,
    encoder: HubEncoder,
    outputs_of: Callable,
    seed,
    epsilon: float,
    words=None,
) -> dict:
    """The inputs of texts with the perturbations r of their embeddings.

    With x the embeddings of a text, d random with ‖d‖ = ξ‖x‖ and ξ = ε / 50, one power iteration:
    `g = ∇_d KL(p(x) ‖ p(x + d))`, `r = ε‖x‖ · g / ‖g‖`, norms over positions and width, padding
    left out. Both predictions are made without dropout, and r has no gradient. The texts of a pair
    that are encoded separately have an x each.

    Shapes: inputs of the encoder → the same with `perturbation` `[batch, time, width]`.

    Args:
        outputs_of: (texts, training) → logits.
        seed: `[2] int`; d is one draw for all rows, so that it does not depend on how devices
            share a batch.
        words: tagging: which words are real, `[batch, words] bool`.

    Source: Miyato et al. 2016, "Adversarial Training Methods for Semi-Supervised Text
    Classification", section 3.
    """
    masks, lengths, directions = _drawn(texts, encoder, seed, epsilon)
    tries = {name: _STEP_SHARE * lengths[name] * directions[name] for name in texts}
    wanted = tf.stop_gradient(with_outcomes(task, outputs_of(texts, False)))
    with tf.GradientTape() as tape:
        tape.watch(tries)
        given = with_outcomes(task, outputs_of(_with(texts, tries), False))
        losses = divergence(wanted, given)
        if words is not None:
            losses = tf.where(words, losses, 0.0)
        total = tf.reduce_sum(losses)
    gradients = tape.gradient(total, tries)
    perturbations = {
        name: tf.stop_gradient(lengths[name] * _unit(gradient * masks[name]))
        for name, gradient in gradients.items()
    }
    return _with(texts, perturbations)


def noise(texts: dict, encoder: HubEncoder, seed, epsilon: float) -> dict:
    """The inputs of texts with normally distributed noise on their embeddings.

    With x the embeddings of a text, n normal and of length 1: `ε‖x‖ · n`, norms as of
    `adversarial_perturbations`, whose arguments and shapes these are.
    """
    _, lengths, directions = _drawn(texts, encoder, seed, epsilon)
    return _with(texts, {name: lengths[name] * directions[name] for name in texts})


def _drawn(texts: dict, encoder: HubEncoder, seed, epsilon: float) -> tuple[dict, dict, dict]:
    """By text: the mask `[batch, time, 1]`, ε‖x‖ `[batch, 1, 1]`, a random direction of norm 1."""
    masks, lengths, directions = {}, {}, {}
    for name, text in texts.items():
        encoded = encoder(text, training=False)
        masks[name] = tf.cast(encoded["mask"], tf.float32)[..., None]
        states = tf.stop_gradient(tf.cast(encoded["layers"][0], tf.float32)) * masks[name]
        lengths[name] = epsilon * _norm(states)
        drawn = tf.random.stateless_normal(tf.shape(states)[1:], seed)[None]
        directions[name] = _unit(drawn * masks[name])
    return masks, lengths, directions


def _with(texts: dict, perturbations: dict) -> dict:
    return {name: text | {PERTURBATION: perturbations[name]} for name, text in texts.items()}


def _unit(values):
    """Rows `[batch, time, width]` of norm 1; zeros where they are zero."""
    largest = tf.reduce_max(tf.abs(values), axis=(1, 2), keepdims=True)
    values = tf.math.divide_no_nan(values, largest)  # squares of small numbers would be 0
    return tf.math.divide_no_nan(values, _norm(values))


def _norm(values):
    return tf.sqrt(tf.reduce_sum(tf.square(values), axis=(1, 2), keepdims=True))
