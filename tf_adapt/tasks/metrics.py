"""Streaming metrics that are exact over all batches and devices.

Every state variable is a sum, so the states of several devices add up. Where a score is undefined
it is 0.
"""

import keras
import tensorflow as tf
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig
from tf_adapt.tasks.tag_schemes import SCHEMES, split_tag
from tf_adapt.tasks.thresholds import chosen

# In tensors a prefix is its index in this string.
PREFIXES = "OBIES"
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(len(PREFIXES))


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
class SpanF1(ArgumentsInConfig, keras.metrics.Metric):
    """Micro-averaged F1 of entities, as in conlleval or strict in the tag scheme.

    `2·right / (true + predicted)`; an entity is right if its type, first and last word are.
    Entities of targets and predictions are those of `tf_adapt.tasks.spans.spans`. 0 if there is no
    entity on either side.

    Shapes: targets `[batch, words] int` (ids of `labels`; −1 is padding), logits
    `[batch, words, labels]`. Predictions at padding are ignored.

    Args:
        labels: the tags, in the order of their ids.
        scheme: "IOB1", "IOB2" or "BIOES"; has an effect only if `strict`.
        name: by default `span_f1`, or `strict_span_f1`.
        strict: tags against the scheme belong to no entity, on either side. False also for saved
            configs without this key, so that `span_f1` always means conlleval's.

    Source: conlleval of the CoNLL-2000 and 2003 shared tasks, equal to seqeval's default mode;
    seqeval's strict mode.
    """

    def __init__(
        self,
        labels: list[str],
        scheme: str,
        name: str | None = None,
        dtype=None,
        *,
        strict: bool = False,
    ):
        super().__init__(name=name or ("strict_span_f1" if strict else "span_f1"), dtype=dtype)
        if scheme not in SCHEMES:
            raise ValueError(f"scheme: expected one of {sorted(SCHEMES)}, got {scheme!r}")
        self.labels = list(labels)
        self.scheme = scheme
        self.strict = strict
        parts = [split_tag(tag) for tag in labels]
        kinds = sorted({kind for prefix, kind in parts if prefix != "O"})
        self._prefixes = [PREFIXES.index(prefix) for prefix, _ in parts]
        self._kinds = [-1 if prefix == "O" else kinds.index(kind) for prefix, kind in parts]
        # right, true, predicted
        self.counts = self.add_variable((3,), "zeros", dtype="float64", name="counts")

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Counts a batch's entities; sample weights are per sentence."""
        targets = tf.cast(y_true, tf.int32)
        predicted = tf.where(targets >= 0, tf.argmax(y_pred, axis=-1, output_type=tf.int32), -1)
        true_start, true_kind, true_end = self._entities(targets)
        start, kind, end = self._entities(predicted)
        right = true_start & start & (true_kind == kind) & (true_end == end)
        # [3, batch]
        counts = tf.stack(
            [
                tf.math.count_nonzero(entities, axis=1, dtype=tf.float64)
                for entities in (right, true_start, start)
            ]
        )
        if sample_weight is not None:
            counts *= tf.reshape(tf.cast(sample_weight, tf.float64), [-1])
        self.counts.assign_add(tf.reduce_sum(counts, axis=1))

    def _entities(self, ids):
        rows = ids % (len(self.labels) + 1)  # padding, −1, becomes the last row: outside
        prefixes = tf.gather([*self._prefixes, OUTSIDE], rows)
        kinds = tf.gather([*self._kinds, -1], rows)
        return find_entities(prefixes, kinds, self.scheme if self.strict else None)

    def result(self):
        """F1, from 0 to 1."""
        right, true, predicted = ops.unstack(ops.convert_to_tensor(self.counts))
        return ops.cast(ops.divide_no_nan(2.0 * right, true + predicted), self.dtype)


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


def find_entities(prefixes, kinds, strict: str | None = None):
    """`tf_adapt.tasks.spans.spans` for a batch.

    Shapes: prefixes (indices into PREFIXES) and kinds (ids of entity types, −1 outside),
    `[batch, words] int32` → starts (bool: an entity begins here), kinds, and ends (the last word of
    the entity that begins here), each `[batch, words]`.
    """
    previous, previous_kinds = _shifted_right(prefixes, OUTSIDE), _shifted_right(kinds, -1)
    same = (kinds == previous_kinds) & (kinds >= 0)
    begins, single = prefixes == BEGIN, prefixes == SINGLE
    after_open = (previous == BEGIN) | (previous == INSIDE)
    continues = ((prefixes == INSIDE) | (prefixes == END)) & after_open & same
    stray = begins & ~same  # in IOB1
    if strict == "IOB1":
        continues &= ~_shifted_right(stray, False)
    starts = (prefixes != OUTSIDE) & ~continues
    ends = _last_of_segment(continues)
    if strict == "IOB2":
        starts &= begins
    if strict == "BIOES":
        last = tf.gather(prefixes, ends, batch_dims=1)
        starts &= (begins | single) & ((last == END) | (last == SINGLE))
    if strict == "IOB1":
        # A `B` whose successor is a `B` of another type is no entity to seqeval either.
        starts &= ~stray & ~(begins & _shifted_left(stray, False))
    return starts, kinds, ends


def _last_of_segment(continues):
    """Position of the last word of each word's segment; one starts where `continues` is False.

    Shapes: `[batch, words] bool` → `[batch, words] int32`.
    """
    batch, words = tf.shape(continues)[0], tf.shape(continues)[1]
    segments = tf.cumsum(tf.cast(~continues, tf.int32), axis=1)  # from 1 to words
    segments += tf.range(batch)[:, None] * (words + 1)
    positions = tf.broadcast_to(tf.range(words), [batch, words])
    last = tf.math.unsorted_segment_max(positions, segments, batch * (words + 1))
    return tf.gather(last, segments)


def _shifted_right(values, first):
    return tf.concat([tf.fill([tf.shape(values)[0], 1], first), values], axis=1)[:, :-1]


def _shifted_left(values, last):
    return tf.concat([values, tf.fill([tf.shape(values)[0], 1], last)], axis=1)[:, 1:]
