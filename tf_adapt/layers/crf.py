"""A linear-chain conditional random field over tags: likelihood, loss, best path, marginals."""

from numbers import Integral

import keras
import numpy as np
import tensorflow as tf

from tf_adapt.layers.crf_best_path import best_path
from tf_adapt.layers.crf_checks import check_shape, checked_matrix, checked_values
from tf_adapt.layers.crf_recursions import log_partition, path_score
from tf_adapt.layers.global_mean import global_mean, weights_like

REDUCTIONS = ("mean", "sum")


@keras.saving.register_keras_serializable("tf_adapt")
class CRF(keras.layers.Layer):
    """`p(y | x) = exp(score(x, y)) / Σ_y' exp(score(x, y'))` over the tags y of a sentence.

    `score(x, y) = start[y_1] + Σ_t logits[t, y_t] + Σ_t transitions[y_t, y_{t+1}] + end[y_n]`.

    Train with `loss`, predict with `decode`. Calling the layer decodes, and returns
    `{"tags", "score"}`. Sums are computed in float64, results are float32 under every dtype policy.

    Shapes: logits `[batch, time, num_tags]` of any float type, tags `[batch, time] int`, mask
    `[batch, time] bool`; for results see each method.

    Masking: padding follows the real words; without a mask all are real. Values at padding, even
    NaN, affect neither results nor gradients. A sentence without a real word has log-likelihood,
    score and gradient 0.

    Args:
        num_tags: number of tags.
        constraints: `[num_tags + 2, num_tags + 2]` nested lists of bool: may tag j (column) follow
            tag i (row), with the start and the end of the sentence as the last two indices; see
            `tag_constraints`. They apply in `decode` only, which prefers any legal path; if there
            is none, it returns the best path with the fewest illegal transitions.
        boundary_scores: add trainable scores of the first and the last tag.
        reduction: "mean" or "sum" over the sentences of the batch in `loss`.

    Attributes:
        transitions: `[num_tags, num_tags] float32`, from row to column; Glorot-normal.
        start_scores, end_scores: `[num_tags] float32`, N(0, 1); None without `boundary_scores`.

    Raises:
        ValueError: an argument is not as described; logits, tags or mask of a wrong shape; a real
            word after padding; a tag of a real word that is not in 0 … num_tags − 1. The last two
            are `tf.errors.InvalidArgumentError` in a graph, and unchecked under XLA.

    Source: Lafferty, McCallum, Pereira 2001; Lample et al. 2016, section 2.2; AllenNLP's
    `conditional_random_field.py`.
    """

    def __init__(
        self,
        num_tags: int,
        constraints: list[list[bool]] | None = None,
        boundary_scores: bool = True,
        reduction: str = "mean",
        **kwargs,
    ):
        # With autocast, Keras would round the logits to half precision.
        super().__init__(**{"autocast": False} | kwargs)
        if not isinstance(num_tags, Integral) or num_tags < 1:
            raise ValueError(f"num_tags: expected a whole number of at least 1, got {num_tags!r}")
        if reduction not in REDUCTIONS:
            raise ValueError(
                f"reduction: expected one of {', '.join(REDUCTIONS)}, got {reduction!r}"
            )
        self.num_tags = num_tags
        self.constraints = None if constraints is None else checked_matrix(constraints, num_tags)
        self.boundary_scores = boundary_scores
        self.reduction = reduction
        self.start_scores = self.end_scores = None

    def build(self, logits_shape=None):
        self.transitions = self._weight("transitions", 2, keras.initializers.GlorotNormal())
        if self.boundary_scores:
            normal = keras.initializers.RandomNormal
            self.start_scores = self._weight("start_scores", 1, normal(stddev=1.0))
            self.end_scores = self._weight("end_scores", 1, normal(stddev=1.0))

    def call(self, logits, mask=None):
        tags, score = self.decode(logits, mask)
        return {"tags": tags, "score": score}

    def compute_mask(self, logits, previous_mask=None):
        """None: padding is −1 in the tags, and later layers need no mask."""
        return

    def log_likelihood(self, logits, tags, mask=None):
        """`log p(tags | logits)` → `[batch] float32`."""
        scores, transitions, lengths = self._prepared(logits, mask)
        tags = self._checked_tags(tags, scores, lengths)
        score = path_score(scores, transitions, lengths, tags)
        return tf.cast(score - log_partition(scores, transitions, lengths), tf.float32)

    def loss(self, targets, logits, sample_weight=None):
        """Negative log-likelihood, its mean or sum over the sentences → scalar float32.

        The mean is over the non-empty sentences of the global batch, on any number of devices
        (see `tf_adapt.layers.global_mean`); the sum is over each device's part.

        Shapes: targets `[batch, time]`, −1 at padding; sample_weight `[batch]`, one a sentence.
        """
        targets = tf.cast(tf.convert_to_tensor(targets), tf.int32)
        real = targets >= 0
        losses = -self.log_likelihood(logits, targets, real)
        if self.reduction == "mean":
            return global_mean(losses, tf.reduce_any(real, axis=1), sample_weight)
        if sample_weight is not None:
            losses *= weights_like(sample_weight, losses)
        return tf.reduce_sum(losses)

    def decode(self, logits, mask=None):
        """The best path (Viterbi) → tags `[batch, time] int32`, −1 at padding; score `[batch]`.

        The score is that of the path, without penalties; the path is a constant for its gradient.
        """
        scores, transitions, lengths = self._prepared(logits, mask)
        forbidden = None if self.constraints is None else ~np.array(self.constraints)
        tags = best_path(
            tf.stop_gradient(scores), tf.stop_gradient(transitions), lengths, forbidden
        )
        score = path_score(scores, transitions, lengths, tags)
        return tags, tf.cast(score, tf.float32)

    def marginals(self, logits, mask=None):
        """`p(y_t = j | logits)` → `[batch, time, num_tags] float32`, 0 at padding; no gradient.

        Constraints do not apply here.
        """
        scores, transitions, lengths = self._prepared(logits, mask)
        # Else a training step that calls this would build an unused second-order gradient.
        scores, transitions = tf.stop_gradient(scores), tf.stop_gradient(transitions)
        with tf.GradientTape() as tape:
            tape.watch(scores)
            partition = tf.reduce_sum(log_partition(scores, transitions, lengths))
        return tf.stop_gradient(tf.cast(tape.gradient(partition, scores), tf.float32))

    def get_config(self) -> dict:
        constraints = self.constraints
        return super().get_config() | {
            "num_tags": self.num_tags,
            "constraints": constraints and [list(row) for row in constraints],
            "boundary_scores": self.boundary_scores,
            "reduction": self.reduction,
        }

    def _weight(self, name: str, rank: int, initializer):
        shape = (self.num_tags,) * rank
        # Under mixed precision an enclosing layer would cast it to half precision.
        return self.add_weight(
            shape=shape, initializer=initializer, name=name, dtype="float32", autocast=False
        )

    def _prepared(self, logits, mask):
        """Logits plus boundary scores `[batch, time, num_tags]` and transitions, both float64;
        lengths `[batch] int32`."""
        if not self.built:
            self.build()
        logits = tf.convert_to_tensor(logits)
        check_shape("logits", logits, [None, None, self.num_tags])
        real = tf.ones(tf.shape(logits)[:2], tf.bool) if mask is None else tf.cast(mask, tf.bool)
        check_shape("mask", real, logits.shape[:2])
        positions = tf.range(tf.shape(logits)[1])
        lengths = tf.reduce_sum(tf.cast(real, tf.int32), axis=1)
        if mask is not None:
            ends = tf.reduce_max(tf.where(real, positions + 1, 0), axis=1)
            # With time = 0 the maximum is the smallest int32.
            is_right_padded = tf.maximum(ends, 0) == lengths
            expected = "mask: expected every real word before all padding"
            real = checked_values(real, is_right_padded, expected)
        scores = tf.where(real[..., None], logits, tf.zeros_like(logits))
        scores = tf.cast(scores, tf.float64)
        if self.boundary_scores:
            is_first = real & (positions == 0)
            is_last = positions == lengths[:, None] - 1
            here = tf.cast(tf.stack([is_first, is_last], axis=-1), tf.float64)
            boundaries = tf.stack([self.start_scores.value, self.end_scores.value])
            scores += tf.einsum("bte,ek->btk", here, tf.cast(boundaries, tf.float64))
        return scores, tf.cast(self.transitions, tf.float64), lengths

    def _checked_tags(self, tags, scores, lengths):
        tags = tf.cast(tf.convert_to_tensor(tags), tf.int32)
        check_shape("tags", tags, scores.shape[:2])
        is_padding = ~tf.sequence_mask(lengths, tf.shape(scores)[1])
        is_known = (tags >= 0) & (tags < self.num_tags)
        expected = f"tags: expected 0 to {self.num_tags - 1} at every real word"
        return checked_values(tags, is_padding | is_known, expected)
