"""One answer from those of several models: mean, votes, or for CRFs one best path."""

from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from tf_adapt.layers.crf import CRF
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.kinds import KINDS
from tf_adapt.tasks.tag_constraints import tag_constraints
from tf_adapt.tasks.task import Task

# Below it a probability has no logarithm in float32.
SMALLEST = float(np.finfo("float32").tiny)


def transitions_of(model: AdaptedModel) -> np.ndarray | None:
    """The transition scores of a tagger's CRF, `[tags, tags]`; None for other models."""
    return model.head.chain.transitions.numpy() if model.decodes else None


class Combination:
    """The weighted mean of the answers of several models, w the weights.

    Mean: `Σ_m w_m·p_m` of the probabilities (regression: of the scores); the label is the largest.

    Votes: `Σ_m w_m·[label_m = y]`, the shares of the votes, are the probabilities; of labels with
    equal shares the one with the largest mean probability wins.

    Mean of taggers of which one has a CRF: `score(x, y) = Σ_m w_m·score_m(x, y)` is again a CRF, as
    `log p_m(y | x)` is `score_m` plus a constant: its logits are the mean of the members' logits,
    its transitions the mean of their transitions. It is decoded once, over the whole sentence and
    within the tag scheme; the probabilities are its marginals. A tagger without a CRF has
    `log p(y_t)` as logits and no transitions.

    Models of weight 0 have no part in it: with one of weight 1 the answers are its own.

    Args:
        transitions: `transitions_of` each model.
        votes: votes instead of the mean; for tasks with one label an example or a word.
        weights: see `assign`; by default equal ones.

    Attributes:
        weights: of each model.
        chain: the mean CRF; None if no model has one, or with votes.
    """

    def __init__(
        self,
        task: Task,
        transitions: Sequence[np.ndarray | None],
        votes: bool = False,
        weights: Sequence[float] | None = None,
    ):
        self.task = task
        self.votes = votes
        self.chain = None
        self._transitions = tuple(transitions)
        if not votes and any(matrix is not None for matrix in transitions):
            constraints = tag_constraints(task.labels, task.scheme)
            self.chain = CRF(task.num_outputs, constraints, boundary_scores=False, dtype="float32")
            self.chain.build()
            # Sentences of all lengths are decoded by one graph.
            self._decode = tf.function(self._decoded, autograph=False, reduce_retracing=True)
        count = len(self._transitions)
        self.assign([1 / count] * count if weights is None else weights)

    def assign(self, weights: Sequence[float]) -> None:
        """Sets the weights, one a model, with the sum 1."""
        self.weights = tuple(weights)
        if self.chain is None:
            return
        mean = np.zeros(self.chain.transitions.shape)
        for weight, matrix in zip(self.weights, self._transitions, strict=True):
            mean += 0.0 if matrix is None else weight * matrix.astype("float64")
        self.chain.transitions.assign(mean.astype("float32"))

    @property
    def decodes(self) -> bool:
        """Whether the answer is a best path: a model with a CRF and a weight takes part."""
        if self.chain is None:
            return False
        pairs = zip(self.weights, self._transitions, strict=True)
        return any(weight and matrix is not None for weight, matrix in pairs)

    def __call__(self, answers: Sequence[dict], row_splits=None) -> dict:
        """One answer from those of the models, in the form of `AdaptedModel.predictions`.

        Shapes: as there, for tagging `[words, …]`, the words of all sentences one after the other.

        Args:
            answers: of each model; those of models of weight 0 are not looked at.
            row_splits: `[sentences + 1]`, where each sentence begins and ends; for tagging.
        """
        pairs = zip(self.weights, answers, strict=True)
        used = [(weight, answer) for weight, answer in pairs if weight]
        if self.decodes:
            logits = _mean((weight, _logits(answer)) for weight, answer in used)
            return self._decode(logits, tf.cast(row_splits, tf.int64))

        def mean(values_of: Callable[[dict], tf.Tensor]) -> tf.Tensor:
            return _mean((weight, values_of(answer)) for weight, answer in used)

        return KINDS[self.task.kind].combined(mean, self.votes, self.task.num_outputs)

    def _decoded(self, logits: tf.Tensor, row_splits: tf.Tensor) -> dict:
        rows = tf.RaggedTensor.from_row_splits(logits, row_splits)
        mask = tf.sequence_mask(rows.row_lengths())
        padded = rows.to_tensor()
        tags, _ = self.chain.decode(padded, mask)
        marginals = self.chain.marginals(padded, mask)
        return {
            "label": tf.boolean_mask(tags, mask),
            "probabilities": tf.boolean_mask(marginals, mask),
        }


def _mean(weighted) -> tf.Tensor:
    """Σ weight · values."""
    return tf.add_n([tf.cast(weight, tf.float32) * values for weight, values in weighted])


def _logits(answer: dict) -> tf.Tensor:
    if "logits" in answer:
        return tf.convert_to_tensor(answer["logits"])
    return tf.math.log(tf.maximum(answer["probabilities"], SMALLEST))
