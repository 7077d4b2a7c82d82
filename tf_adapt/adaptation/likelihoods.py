"""The log-likelihood of a model's outputs, for the Fisher information."""

from collections.abc import Callable

import tensorflow as tf

from tf_adapt.errors import ConfigError

# Outputs, targets, seed `[2] int32` of sampled targets or None → scalar.
Likelihood = Callable[[tf.Tensor, tf.Tensor, tf.Tensor | None], tf.Tensor]


def of_labels(outputs, targets, seed=None):
    """The log-likelihood of one label of several, or of all tags of a sentence together.

    Shapes: outputs `[…, classes]`, targets `[…] int`, −1 at padding → scalar.
    """
    if seed is not None:
        targets = sampled_targets(outputs, targets >= 0, seed)
    return categorical_log_likelihood(outputs, targets)


def categorical_log_likelihood(logits, targets):
    """Sum of `log softmax(logits)[target]` over all targets >= 0, in float32.

    Shapes: logits `[…, classes]`, targets `[…] int` → scalar.
    """
    real = targets >= 0
    # Values at padding, even NaN, must not reach the gradient.
    logits = tf.where(real[..., None], tf.cast(logits, tf.float32), 0.0)
    logs = tf.nn.log_softmax(logits)
    chosen = tf.gather(logs, tf.maximum(targets, 0), batch_dims=len(targets.shape))
    return tf.reduce_sum(tf.where(real, chosen, 0.0))


def bernoulli_log_likelihood(logits, targets, seed=None):
    """Sum over all labels of `log p(target)` with `p(1) = sigmoid(logit)`, in float32.

    Shapes: logits and targets (0 or 1) `[…, labels]` → scalar.

    Args:
        seed: `[2] int32`; if given, the targets are sampled from the model instead.
    """
    logits = tf.cast(logits, tf.float32)
    if seed is not None:
        drawn = tf.random.stateless_uniform(tf.shape(logits), seed)
        targets = tf.cast(drawn < tf.sigmoid(tf.stop_gradient(logits)), tf.float32)
    return -tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(targets, logits))


def sampled_targets(logits, real, seed):
    """One sample from `softmax(logits)` for each real position, −1 for the others.

    Shapes: logits `[…, classes]`, real `[…] bool`, seed `[2] int32` → `[…] int32`.
    """
    rows = tf.reshape(tf.cast(logits, tf.float32), [-1, logits.shape[-1]])
    drawn = tf.random.stateless_categorical(rows, 1, seed, dtype=tf.int32)
    return tf.where(real, tf.reshape(drawn, tf.shape(real)), -1)


def of_text(outputs, targets, seed=None):
    """The log-likelihood of a text's words: outputs are their losses, −1 without a target."""
    return -tf.reduce_sum(tf.maximum(outputs, 0.0))


def refuse_sampled(what: str) -> None:
    """Refuses outcomes that are drawn from the model.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        f"fisher: expected sampled=False (--given-labels) for {what}, whose outcomes are not "
        "drawn here, got sampled=True"
    )
