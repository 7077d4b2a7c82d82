"""Losses that are exact means over the global batch, however it is spread over devices.

A mean of per-device means weighs an example by the size of the share that it happens to be in.
Here every device divides its sum by the number of examples of *all* devices.
"""

import keras
import tensorflow as tf
from keras import ops


@keras.saving.register_keras_serializable("tf_adapt")
class CrossEntropy(keras.losses.Loss):
    """Softmax cross-entropy of class ids, in float32: the mean of `-log softmax(logits)[target]`.

    Shapes: targets `[batch] int` or `[batch, words] int`, logits `[…, classes]` → scalar.

    Masking: a target of −1 is padding and counts neither in the sum nor in the number of targets;
    the loss of nothing but padding is 0. Sample weights multiply the summands, not their number.
    """

    def __init__(self, name: str = "cross_entropy"):
        super().__init__(name=name)

    def __call__(self, y_true, y_pred, sample_weight=None):
        logits = ops.cast(ops.convert_to_tensor(y_pred), "float32")
        targets = ops.reshape(ops.cast(y_true, "int32"), ops.shape(logits)[:-1])
        real = targets >= 0
        # What stands at padding, even a NaN, must not reach the gradient.
        logits = ops.where(real[..., None], logits, 0.0)
        losses = ops.sparse_categorical_crossentropy(
            ops.maximum(targets, 0), logits, from_logits=True
        )
        return global_mean(losses, real, sample_weight)

    def get_config(self) -> dict:
        return {"name": self.name}


@keras.saving.register_keras_serializable("tf_adapt")
class SquaredError(keras.losses.Loss):
    """Mean of `(prediction − target)²` on the targets' own scale, in float32.

    Shapes: targets `[batch] float`, predictions `[batch]` → scalar.
    """

    def __init__(self, name: str = "squared_error"):
        super().__init__(name=name)

    def __call__(self, y_true, y_pred, sample_weight=None):
        predictions = ops.cast(ops.convert_to_tensor(y_pred), "float32")
        targets = ops.reshape(ops.cast(y_true, "float32"), ops.shape(predictions))
        losses = ops.square(predictions - targets)
        return global_mean(losses, ops.ones_like(losses, dtype="bool"), sample_weight)

    def get_config(self) -> dict:
        return {"name": self.name}


@keras.saving.register_keras_serializable("tf_adapt")
class LanguageModelLoss(keras.losses.Loss):
    """Mean over the global batch of losses that the model has computed from the text itself.

    Shapes: y_true: anything, not looked at; y_pred: a loss for each target, −1 where there is none
    → scalar, 0 without any target.
    """

    def __init__(self, name: str = "language_model"):
        super().__init__(name=name)

    def __call__(self, y_true, y_pred, sample_weight=None):
        return global_mean(y_pred, y_pred >= 0)

    def get_config(self) -> dict:
        return {"name": self.name}


def global_mean(losses, real, sample_weight=None):
    """Sum of the real losses over the number of them in the global batch; 0 if there is none.

    Under a distribution strategy with R replicas, each gets a value whose gradients, summed over
    the replicas as Keras optimizers do, are those of the global mean, and which itself is that mean
    divided by R: the convention of Keras losses, whose progress display multiplies by R.

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
