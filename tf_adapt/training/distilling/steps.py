"""One step of a distillation as one graph: the teacher's states, the losses, the update."""

from collections.abc import Sequence
from types import SimpleNamespace

import keras
import tensorflow as tf

from hub_modules.native.kernels.custom_gradients import own_gradients
from hub_modules.native.transformer import as_rows
from tf_adapt.adaptation.discriminative import DiscriminativeOptimizer
from tf_adapt.training.distilling.state_distances import relation_divergence, unexplained_share

LOSSES = ("loss", "states", "relations", "mean")
_ROWS = tf.TensorSpec([None, None], tf.int32)


def matched_layers(keep_layers: Sequence[int], num_layers: int) -> list[int]:
    """The teacher's layer that each layer of the student is to match, both from 0.

    Each of the teacher's layers belongs to the nearest kept one, at a tie to the lower; a student's
    layer gives what the last of those that belong to it gives. So 0, 2, 5 of 6 layers give the
    states of 1, 3, 5, and 0, 2, 4, 7, 9, 11 of 12 those of 1, 3, 5, 8, 10, 11.
    """
    pairs = zip(keep_layers[:-1], keep_layers[1:], strict=True)
    return [*((low + high) // 2 for low, high in pairs), num_layers - 1]


class DistillationSteps:
    """The steps of a distillation: an update, and the losses on held-out rows.

    The loss is the sum, with equal weights, of

    - states: the `unexplained_share` of the teacher's states by the student's, the mean over the
      student's layers (`matched_layers`; DistilBERT compares the top states, by their cosine);
    - relations: the `relation_divergence` of the top layers' queries, keys and values, with as many
      relation heads as the teacher has attention heads (MiniLM v2);
    - mean: the `unexplained_share` of the mean over the top states of each row.

    Neither has dropout. The teacher gets no gradient.

    Args:
        teacher, student: built `BertEncoder`s with the same vocabulary.
        keep_layers: the teacher's layers that the student began with.

    Source: Sanh et al. 2019, "DistilBERT"; Wang et al. 2021, "MiniLMv2".
    """

    def __init__(self, teacher, student, keep_layers: Sequence[int]):
        self._teacher, self._student = teacher, student
        self._matched = matched_layers(keep_layers, teacher.num_layers)
        weights = student.trainable_weights
        known = SimpleNamespace(layer_groups=[("student", weights)], adaptable_groups=["student"])
        # No weight decay: it would move embeddings of pieces and positions that never occur.
        self.optimizer = DiscriminativeOptimizer(keras.optimizers.Adam(1e-3, epsilon=1e-6), known)
        self.optimizer.build(weights)

    @property
    def variables(self) -> dict[str, list]:
        """The variables that a checkpoint needs, by group."""
        return {"student": self._student.weights, "optimizer": self.optimizer.variables}

    def update(self, ids, segments, rate: float) -> list[float]:
        """Trains on a batch; returns the values of `LOSSES` before the update."""
        self.optimizer.learning_rate = rate
        return [float(value) for value in self._update(ids, segments)]

    def losses(self, ids, segments) -> list[float]:
        """The values of `LOSSES` on a batch."""
        return [float(value) for value in self._evaluate(ids, segments)]

    @tf.function(input_signature=[_ROWS, _ROWS], autograph=False)
    def _update(self, ids, segments):
        wanted = self._read(self._teacher, ids, segments, self._matched)
        weights = self._student.trainable_weights
        with tf.GradientTape() as tape:
            losses = self._compare(wanted, self._read(self._student, ids, segments))
        gradients = tape.gradient(losses[0], [weight.value for weight in weights])
        self.optimizer.apply(gradients, weights)
        own_gradients()
        return losses

    @tf.function(input_signature=[_ROWS, _ROWS], autograph=False)
    def _evaluate(self, ids, segments):
        wanted = self._read(self._teacher, ids, segments, self._matched)
        return self._compare(wanted, self._read(self._student, ids, segments))

    def _read(self, encoder, ids, segments, chosen: Sequence[int] | None = None) -> tuple:
        """States of the chosen layers, and the top layer's queries, keys and values."""
        inputs = {"input_word_ids": ids, "input_type_ids": segments}
        inputs["input_mask"] = tf.ones_like(ids)
        states = encoder.lower_layers(inputs, encoder.num_layers)["layers"]
        attention = encoder.blocks[-1].attention
        shape = tf.shape(states[-2])
        vectors = [
            tf.reshape(dense(as_rows(states[-2])), shape)
            for dense in (attention.query, attention.key, attention.value)
        ]
        numbers = range(encoder.num_layers) if chosen is None else chosen
        return [states[1 + number] for number in numbers], vectors

    def _compare(self, wanted: tuple, outputs: tuple) -> list[tf.Tensor]:
        (theirs, their_vectors), (ours, our_vectors) = wanted, outputs
        shares = [unexplained_share(*pair) for pair in zip(ours, theirs, strict=True)]
        states = tf.add_n(shares) / len(shares)
        heads = self._teacher.num_heads
        relations = relation_divergence(our_vectors, their_vectors, heads)
        means = [tf.reduce_mean(tf.cast(part[-1], tf.float32), axis=1) for part in (ours, theirs)]
        mean = unexplained_share(*means)
        return [states + relations + mean, states, relations, mean]
