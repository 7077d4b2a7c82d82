"""Streaming metrics of classes, functions of the confusion matrix.

They are exact over all batches and devices, as those of `tf_adapt.tasks.metrics`; a score that is
undefined is 0.
"""

import keras
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig


class ClassMetric(ArgumentsInConfig, keras.metrics.Metric):
    """Counts the confusion matrix, `[true classes, predicted classes]`.

    Shapes: targets `[batch] int` (−1 is ignored), logits `[batch, num_classes]`.
    """

    def __init__(self, num_classes: int, name: str, dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        # In float64 whole numbers stay exact up to 2^53.
        self.confusion = self.add_variable(
            (num_classes, num_classes), "zeros", dtype="float64", name="confusion"
        )

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch to the confusion matrix."""
        logits = ops.convert_to_tensor(y_pred)
        targets = ops.reshape(ops.cast(y_true, "int32"), ops.shape(logits)[:-1])
        # [batch, num_classes]; the row of target −1 is zero.
        true = ops.one_hot(targets, self.num_classes, dtype="float64")
        predicted = ops.one_hot(ops.argmax(logits, axis=-1), self.num_classes, dtype="float64")
        if sample_weight is not None:
            true *= ops.reshape(ops.cast(sample_weight, "float64"), (-1, 1))
        self.confusion.assign_add(ops.matmul(ops.transpose(true), predicted))


@keras.saving.register_keras_serializable("tf_adapt")
class MatthewsCorrelation(ClassMetric):
    """Matthews correlation coefficient, for two classes or more.

    `(c·s − Σ tₖpₖ) / √((s² − Σ pₖ²)(s² − Σ tₖ²))`, with s the number of examples, c the number of
    correct ones, tₖ and pₖ the counts of class k among targets and predictions. 0 if either side
    has only one class.

    Source: Gorodkin 2004, "Comparing two K-category assignments by a K-category correlation
    coefficient"; the same definition as scikit-learn's.
    """

    def __init__(self, num_classes: int, name: str = "matthews", dtype=None):
        super().__init__(num_classes, name, dtype)

    def result(self):
        """The coefficient, from −1 to 1."""
        confusion = ops.convert_to_tensor(self.confusion)
        true, predicted = ops.sum(confusion, axis=1), ops.sum(confusion, axis=0)
        right = ops.sum(ops.diagonal(confusion))
        # s² − Σ pₖ² written as Σ pₖ(s − pₖ), which is 0 without rounding for a single class.
        spread_true = ops.sum(true * (ops.sum(true) - true))
        spread_predicted = ops.sum(predicted * (ops.sum(predicted) - predicted))
        covariance = right * ops.sum(true) - ops.sum(true * predicted)
        score = ops.divide_no_nan(covariance, ops.sqrt(spread_true * spread_predicted))
        return ops.cast(score, self.dtype)


@keras.saving.register_keras_serializable("tf_adapt")
class MacroF1(ClassMetric):
    """The mean over the classes of `2·right / (true + predicted)`, 0 for one that neither side has.

    Source: scikit-learn's `f1_score(average="macro", zero_division=0)` over all labels.
    """

    def __init__(self, num_classes: int, name: str = "macro_f1", dtype=None):
        super().__init__(num_classes, name, dtype)

    def result(self):
        """The mean F1, from 0 to 1."""
        confusion = ops.convert_to_tensor(self.confusion)
        both = ops.sum(confusion, axis=1) + ops.sum(confusion, axis=0)
        scores = ops.divide_no_nan(2.0 * ops.diagonal(confusion), both)
        return ops.cast(ops.mean(scores), self.dtype)


@keras.saving.register_keras_serializable("tf_adapt")
class BalancedAccuracy(ClassMetric):
    """The mean recall of the classes that have an example.

    Source: scikit-learn's `balanced_accuracy_score`.
    """

    def __init__(self, num_classes: int, name: str = "balanced_accuracy", dtype=None):
        super().__init__(num_classes, name, dtype)

    def result(self):
        """The mean recall, from 0 to 1."""
        confusion = ops.convert_to_tensor(self.confusion)
        true = ops.sum(confusion, axis=1)
        present = ops.sum(ops.cast(true > 0, "float64"))
        recalls = ops.sum(ops.divide_no_nan(ops.diagonal(confusion), true))
        return ops.cast(ops.divide_no_nan(recalls, present), self.dtype)
