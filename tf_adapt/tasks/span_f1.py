"""Span F1 as a streaming metric: entities of tag sequences, as conlleval counts them."""

import keras
import tensorflow as tf
from keras import ops

from hub_modules.native.arguments import ArgumentsInConfig
from tf_adapt.tasks.tag_schemes import SCHEMES, split_tag

# In tensors a prefix is its index in this string.
PREFIXES = "OBIES"
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(len(PREFIXES))


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
