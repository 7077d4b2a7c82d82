"""Losses that are exact means over the global batch: see `tf_adapt.layers.global_mean`."""

import keras
from keras import ops

from tf_adapt.layers.global_mean import global_mean, global_ratio, weights_like
from tf_adapt.tasks.by_kind.dialog import CHOICE_WEIGHT, LANGUAGE_MODEL_WEIGHT


@keras.saving.register_keras_serializable("tf_adapt")
class CrossEntropy(keras.losses.Loss):
    """Softmax cross-entropy of class ids, in float32: the mean of `-log softmax(logits)[target]`.

    Shapes: targets `[batch] int` or `[batch, words] int`, logits `[…, classes]` → scalar.

    Masking: a target of −1 is padding and counts neither in the sum nor in the number of targets;
    without targets the loss is 0. Sample weights multiply the summands, not their number.
    """

    def __init__(self, name: str = "cross_entropy"):
        super().__init__(name=name)

    def __call__(self, y_true, y_pred, sample_weight=None):
        logits = ops.cast(ops.convert_to_tensor(y_pred), "float32")
        targets = ops.reshape(ops.cast(y_true, "int32"), ops.shape(logits)[:-1])
        real = targets >= 0
        # Logits at padding, even NaN, must not affect the gradient.
        logits = ops.where(real[..., None], logits, 0.0)
        losses = ops.sparse_categorical_crossentropy(
            ops.maximum(targets, 0), logits, from_logits=True
        )
        return global_mean(losses, real, sample_weight)

    def get_config(self) -> dict:
        return {"name": self.name}


@keras.saving.register_keras_serializable("tf_adapt")
class SpanCrossEntropy(CrossEntropy):
    """Mean cross-entropy of the first and of the last word of an answer, in float32.

    Shapes: targets `[batch, 2] int`, the positions of both among the logits; logits
    `[batch, words, 2]`, of each word to begin and to end it → scalar.

    Masking: logits at padding must be so low that they have no probability.

    Source: Devlin et al. 2019, section 4.2.
    """

    def __init__(self, name: str = "span_cross_entropy"):
        super().__init__(name=name)

    def __call__(self, y_true, y_pred, sample_weight=None):
        by_end = ops.transpose(ops.cast(ops.convert_to_tensor(y_pred), "float32"), (0, 2, 1))
        if sample_weight is not None:
            sample_weight = ops.reshape(sample_weight, (-1, 1))
        return super().__call__(y_true, by_end, sample_weight)


def soft_cross_entropy(probabilities, logits):
    """Cross-entropy with probabilities in place of class ids: the mean of `-Σ_k p_k log softmax_k`.

    Shapes: probabilities and logits `[batch, classes]` → scalar, float32: one replica's share of
    the mean over the global batch, see `global_mean`.
    """
    logits = ops.cast(ops.convert_to_tensor(logits), "float32")
    probabilities = ops.cast(ops.convert_to_tensor(probabilities), "float32")
    losses = -ops.sum(probabilities * ops.log_softmax(logits), axis=-1)
    return global_mean(losses, ops.ones_like(losses, dtype="bool"))


@keras.saving.register_keras_serializable("tf_adapt")
class BinaryCrossEntropy(keras.losses.Loss):
    """Sigmoid cross-entropy of sets of labels, in float32: its mean over labels and examples.

    `−t log σ(x) − (1 − t) log(1 − σ(x))` for each target t and logit x.

    Shapes: targets `[batch, labels]` 0 or 1, logits `[batch, labels]` → scalar, 0 without examples.

    Sample weights `[batch]` or `[batch, labels]` multiply the summands, not their number.
    """

    def __init__(self, name: str = "binary_cross_entropy"):
        super().__init__(name=name)

    def __call__(self, y_true, y_pred, sample_weight=None):
        logits = ops.cast(ops.convert_to_tensor(y_pred), "float32")
        targets = ops.reshape(ops.cast(y_true, "float32"), ops.shape(logits))
        losses = ops.binary_crossentropy(targets, logits, from_logits=True)
        if sample_weight is not None:
            losses *= weights_like(sample_weight, losses)
        losses = ops.mean(losses, axis=-1)
        return global_mean(losses, ops.ones_like(losses, dtype="bool"))

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
class DialogLoss(keras.losses.Loss):
    """`2 · L + C`: the mean `−log p` of the right replies' tokens, and the mean cross-entropy of
    the choice of the right reply among the candidates.

    Shapes: y_true: ignored; y_pred `[batch, 2 + candidates]`: of `DialogModel` → scalar.

    Source: transfer-learning-conv-ai, whose published model has these weights.
    """

    def __init__(self, name: str = "dialog"):
        super().__init__(name=name)

    def __call__(self, y_true, y_pred, sample_weight=None):
        language = global_ratio(ops.sum(y_pred[:, 0]), ops.sum(y_pred[:, 1]))
        choices = -ops.log_softmax(y_pred[:, 2:])[:, 0]
        choice = global_mean(choices, ops.ones_like(choices, dtype="bool"))
        return LANGUAGE_MODEL_WEIGHT * language + CHOICE_WEIGHT * choice

    def get_config(self) -> dict:
        return {"name": self.name}


@keras.saving.register_keras_serializable("tf_adapt")
class TextGenerationLoss(keras.losses.Loss):
    """Mean over the targets' tokens of the loss that `EncoderDecoderModel` is trained with.

    Shapes: y_true: ignored; y_pred `[batch, 3]`: of `EncoderDecoderModel` → scalar.
    """

    def __init__(self, name: str = "text_generation"):
        super().__init__(name=name)

    def __call__(self, y_true, y_pred, sample_weight=None):
        return global_ratio(ops.sum(y_pred[:, 2]), ops.sum(y_pred[:, 1]))

    def get_config(self) -> dict:
        return {"name": self.name}


@keras.saving.register_keras_serializable("tf_adapt")
class LanguageModelLoss(keras.losses.Loss):
    """Mean over the global batch of losses that the model itself computes from the text.

    Shapes: y_true: ignored; y_pred: a loss for each target, −1 where there is none → scalar, 0
    without targets.
    """

    def __init__(self, name: str = "language_model"):
        super().__init__(name=name)

    def __call__(self, y_true, y_pred, sample_weight=None):
        return global_mean(y_pred, y_pred >= 0)

    def get_config(self) -> dict:
        return {"name": self.name}
