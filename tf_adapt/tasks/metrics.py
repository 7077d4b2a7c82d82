"""Streaming metrics that are exact over all batches and devices.

Every state variable is a sum, so the states of several devices add up. Where a score is undefined
it is 0.
"""

import keras
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig
from tf_adapt.tasks.thresholds import chosen


@keras.saving.register_keras_serializable("tf_adapt")
class LabelSetF1(ArgumentsInConfig, keras.metrics.Metric):
    """Micro- or macro-averaged F1 of sets of labels.

    `2·right / (true + predicted)`, over all pairs of an example and a label ("micro"), or for each
    label, then averaged ("macro"). 0 without true and predicted labels: a label that neither side
    has counts as 0 in the mean, as in scikit-learn with `zero_division=0`.

    Shapes: targets `[batch, labels]` 0 or 1, logits `[batch, labels]`.

    Args:
        average: "micro" or "macro".
        num_labels: number of labels.
        thresholds: for each label the lowest probability at which it is predicted; None: 0.5.
        name: by default `micro_f1` or `macro_f1`.
    """

    def __init__(
        self,
        average: str,
        num_labels: int,
        thresholds: list[float] | None = None,
        name: str | None = None,
        dtype=None,
    ):
        super().__init__(name=name or f"{average}_f1", dtype=dtype)
        if average not in ("micro", "macro"):
            raise ValueError(f"average: expected micro or macro, got {average!r}")
        self.average = average
        self.num_labels = num_labels
        self.thresholds = None if thresholds is None else list(thresholds)
        # right, true, predicted
        self.counts = self.add_variable((3, num_labels), "zeros", dtype="float64", name="counts")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts a batch's labels; sample weights are per example."""
        logits = ops.cast(ops.convert_to_tensor(y_pred), "float32")
        true = ops.reshape(ops.cast(y_true, "float64"), ops.shape(logits))
        predicted = ops.cast(chosen(ops.sigmoid(logits), self.thresholds), "float64")
        counts = ops.stack([true * predicted, true, predicted])  # [3, batch, labels]
        if sample_weight is not None:
            counts *= ops.reshape(ops.cast(sample_weight, "float64"), (1, -1, 1))
        self.counts.assign_add(ops.sum(counts, axis=1))

    def result(self):
        """F1, from 0 to 1."""
        counts = ops.convert_to_tensor(self.counts)
        if self.average == "micro":
            counts = ops.sum(counts, axis=1, keepdims=True)
        right, true, predicted = ops.unstack(counts)
        f1 = ops.divide_no_nan(2.0 * right, true + predicted)
        return ops.cast(ops.mean(f1), self.dtype)


@keras.saving.register_keras_serializable("tf_adapt")
class PearsonCorrelation(keras.metrics.Metric):
    """Pearson correlation of predictions and targets.

    `(nΣxy − ΣxΣy) / √((nΣx² − (Σx)²)(nΣy² − (Σy)²))`, the sums in float64. A product of two float32
    numbers is exact there, so that the error of the score is no larger than that from the rounding
    of the inputs to float32. 0 if a side is constant: its standard deviation is below 1e-6 of its
    root mean square, a few float32 roundings.

    Shapes: targets `[batch] float`, predictions `[batch]`.
    """

    def __init__(self, name: str = "pearson", dtype=None):
        super().__init__(name=name, dtype=dtype)
        # n, Σx, Σy, Σx², Σy², Σxy
        self.sums = self.add_variable((6,), "zeros", dtype="float64", name="sums")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch to the sums."""
        x = ops.reshape(ops.cast(y_true, "float64"), (-1,))
        y = ops.reshape(ops.cast(y_pred, "float64"), (-1,))
        weights = ops.ones_like(x)
        if sample_weight is not None:
            weights = ops.reshape(ops.cast(sample_weight, "float64"), (-1,))
        # [6, batch]
        terms = ops.stack([ops.ones_like(x), x, y, x * x, y * y, x * y])
        self.sums.assign_add(ops.sum(terms * weights, axis=1))

    def result(self):
        """The coefficient, from −1 to 1."""
        n, x, y, xx, yy, xy = ops.unstack(ops.convert_to_tensor(self.sums))
        spread_x, spread_y = n * xx - x * x, n * yy - y * y
        varies = ops.logical_and(spread_x > 1e-12 * n * xx, spread_y > 1e-12 * n * yy)
        scale = ops.sqrt(ops.where(varies, spread_x * spread_y, 1.0))
        score = ops.where(varies, (n * xy - x * y) / scale, 0.0)
        return ops.cast(ops.clip(score, -1.0, 1.0), self.dtype)


@keras.saving.register_keras_serializable("tf_adapt")
class Perplexity(keras.metrics.Metric):
    """Exponential of the mean loss of all targets; lower is better. NaN without targets.

    Shapes: targets: ignored; predictions: `−log p` of each target, −1 where there is none.
    """

    def __init__(self, name: str = "perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)
        # Number of targets, sum of their losses.
        self.sums = self.add_variable((2,), "zeros", dtype="float64", name="sums")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch to the sums."""
        losses = ops.cast(y_pred, "float64")
        real = losses >= 0
        count = ops.sum(ops.cast(real, "float64"))
        self.sums.assign_add(ops.stack([count, ops.sum(ops.where(real, losses, 0.0))]))

    def result(self):
        """The perplexity, from 1 to infinity."""
        count, total = ops.unstack(ops.convert_to_tensor(self.sums))
        return ops.cast(ops.exp(total / count), self.dtype)


@keras.saving.register_keras_serializable("tf_adapt")
class ReplyPerplexity(Perplexity):
    """As `Perplexity`, of the tokens of right replies, or of targets.

    Shapes: targets: ignored; predictions `[batch, columns]`: of `DialogModel` and
    `EncoderDecoderModel`, whose first two are the sum of `−log p` and the number of tokens.
    """

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch to the sums."""
        sums = ops.sum(ops.cast(y_pred, "float64"), axis=0)
        self.sums.assign_add(ops.stack([sums[1], sums[0]]))


@keras.saving.register_keras_serializable("tf_adapt")
class LogProbability(Perplexity):
    """The mean `log p` of a word of right replies, or of targets: `Σ log p / Σ words`.

    `exp` of its negative is the perplexity of a word, which encoders with other tokens share.

    Shapes: targets `[batch] int`, the words of each text
    (`tf_adapt.tasks.by_kind.text_generation.count_words`); predictions as of `ReplyPerplexity`.

    Source: `word_perplexity` of Gao et al. 2021, "A framework for few-shot language model
    evaluation".
    """

    def __init__(self, name: str = "log_probability", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds a batch to the sums."""
        words = ops.sum(ops.cast(y_true, "float64"))
        loss = ops.sum(ops.cast(y_pred[:, 0], "float64"))
        self.sums.assign_add(ops.stack([words, loss]))

    def result(self):
        """The mean, 0 or less."""
        words, loss = ops.unstack(ops.convert_to_tensor(self.sums))
        return ops.cast(-loss / words, self.dtype)


@keras.saving.register_keras_serializable("tf_adapt")
class RightReplies(keras.metrics.MeanMetricWrapper):
    """Share of exchanges whose right reply has the highest score of the candidates.

    Shapes: as of `ReplyPerplexity`.
    """

    def __init__(self, name: str = "hits_at_1_of_4", dtype=None):
        super().__init__(_is_right, name=name, dtype=dtype)

    def get_config(self) -> dict:
        return {"name": self.name, "dtype": self.dtype}


def _is_right(y_true, y_pred):
    return ops.argmax(y_pred[:, 2:], axis=-1) == 0


@keras.saving.register_keras_serializable("tf_adapt")
class WordAccuracy(keras.metrics.SparseCategoricalAccuracy):
    """Share of words with the right tag.

    Shapes: targets `[batch, words] int` (−1 is padding, which is ignored), logits
    `[batch, words, labels]`.
    """

    def __init__(self, name: str = "accuracy", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts a batch's words; sample weights are per sentence."""
        real = ops.cast(ops.convert_to_tensor(y_true) >= 0, "float32")
        if sample_weight is not None:
            real *= ops.reshape(ops.cast(sample_weight, "float32"), (-1, 1))
        super().update_state(y_true, y_pred, real)
