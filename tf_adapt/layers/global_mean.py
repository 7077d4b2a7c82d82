"""The exact mean of losses over the global batch, on any number of devices.

A mean of per-device means weights an example by the size of its device's part of the batch. Here
every device divides its sum by the number of examples of *all* devices.
"""

import tensorflow as tf
from keras import ops

from hub_modules.errors import ConfigError


def global_mean(losses, real, sample_weight=None):
    """Sum of the real losses divided by their number in the global batch; 0 if there is none.

    Under a distribution strategy with R replicas, the value on each is the global mean divided by
    R, and its gradients, summed over the replicas as Keras optimizers do, are those of the global
    mean. This is the convention of Keras losses, whose progress display multiplies by R.

    Shapes: losses and real (bool) of one shape, sample_weight as in `weights_like` → scalar.
    """
    if sample_weight is not None:
        losses = losses * weights_like(sample_weight, losses)
    total = ops.sum(ops.where(real, losses, 0.0))
    return global_ratio(total, ops.sum(ops.cast(real, "float32")))


def global_ratio(total, count):
    """The sum of `total` over all replicas divided by that of `count`, in the convention of
    `global_mean`; 0 without a count. Shapes: scalars → scalar."""
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return total / ops.maximum(count, 1.0)
    count, global_total = context.all_reduce(
        tf.distribute.ReduceOp.SUM, [count, ops.stop_gradient(total)]
    )
    count = ops.maximum(count, 1.0)
    share = total / count
    mean = global_total / count
    return share + ops.stop_gradient(mean / context.num_replicas_in_sync - share)


def weights_like(sample_weight, losses):
    """Weights that multiply the losses: one for each example, or for each of its losses.

    Shapes: sample_weight `[batch]`, `[batch, 1]` or that of losses → losses' number of axes.

    Raises:
        ConfigError: it has another shape.
    """
    weights = ops.cast(sample_weight, "float32")
    given, axes = tuple(weights.shape), len(losses.shape)
    fitting = tuple(losses.shape) if len(given) == axes else (losses.shape[0], 1)[: len(given)]
    if len(given) > max(axes, 2) or not given or not _can_be(given, fitting):
        each = " or for each word, [batch, time]" if axes == 2 else ""
        raise ConfigError(
            f"sample_weight: expected one weight for each example, [batch]{each}, got the shape "
            f"{list(given)}; under a CRF a sentence has one loss (linear_tagger has one a word)"
        )
    if len(given) > axes:
        return ops.squeeze(weights, axis=1)
    return weights if len(given) == axes else weights[:, None]


def _can_be(given: tuple, expected: tuple) -> bool:
    """Whether sizes can be equal; 1 stands for all losses of an example, None is not known yet."""
    pairs = list(zip(given, expected, strict=True))
    return all(None in pair or pair[0] == pair[1] for pair in pairs[:1]) and all(
        None in pair or pair[0] in (1, pair[1]) for pair in pairs[1:]
    )
