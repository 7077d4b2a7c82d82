"""The exact mean of losses over the global batch, on any number of devices.

A mean of per-device means weights an example by the size of its device's part of the batch. Here
every device divides its sum by the number of examples of *all* devices.
"""

import tensorflow as tf
from keras import ops


def global_mean(losses, real, sample_weight=None):
    """Sum of the real losses divided by their number in the global batch; 0 if there is none.

    Under a distribution strategy with R replicas, the value on each is the global mean divided by
    R, and its gradients, summed over the replicas as Keras optimizers do, are those of the global
    mean. This is the convention of Keras losses, whose progress display multiplies by R.

    Shapes: losses and real (bool) of one shape, sample_weight of that shape or `[batch]` → scalar.
    """
    if sample_weight is not None:
        losses = losses * _weights_like(sample_weight, losses)
    total = ops.sum(ops.where(real, losses, 0.0))
    count = ops.sum(ops.cast(real, "float32"))
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


def _weights_like(sample_weight, losses):
    weights = ops.cast(sample_weight, "float32")
    if len(losses.shape) == 1:
        return ops.reshape(weights, (-1,))
    return weights[:, None] if len(weights.shape) == 1 else weights
