"""A head for pairs on nothing but the similarity of the two texts' vectors."""

import keras
import tensorflow as tf

from tf_adapt.errors import ConfigError
from tf_adapt.heads.head_layer import VectorReader
from tf_adapt.heads.linear import output_layer
from tf_adapt.layers.texts import read_vectors
from tf_adapt.tasks.task import Task

SMALLEST = 1e-12


def cosine(u, v):
    """`u · v / (‖u‖ ‖v‖)`, 0 for a vector 0: `[batch, width]` twice → `[batch]`."""
    u, v = (tf.math.l2_normalize(vector, axis=-1, epsilon=SMALLEST) for vector in (u, v))
    return tf.reduce_sum(u * v, axis=-1)


def euclidean(u, v):
    """`−√(mean (u − v)²)`: `[batch, width]` twice → `[batch]`."""
    # Without the summand the gradient of two equal vectors is not finite.
    return -tf.sqrt(tf.reduce_mean(tf.square(u - v), axis=-1) + SMALLEST)


SIMILARITIES = {"cosine": cosine, "euclidean": euclidean}


@keras.saving.register_keras_serializable("tf_adapt")
class SimilarityHead(VectorReader):
    """`w s(u, v) + b` with the similarity s of the vectors u and v of two texts.

    For scores w and b are numbers, from which the squared error is taken: they start where
    similarities from 0 to 1 fill the range of the scores. For labels they are those of a logistic
    regression, a row for each label. In float32.

    What u and v are is as for `LinearHead`.

    Shapes: encoded, a list of two encoder outputs, and the inputs as for `LinearHead` → logits
    `[batch, num_outputs] float32`, or `[batch] float32` for regression.

    Args:
        num_outputs: number of labels; 1 for regression.
        similarity: "cosine", or "euclidean" (the negative distance).
        score_range: of the scores of a regression.
        dropout: dropout rate of the vectors.
        regression, pooling, mixed, scaled: as of `LinearHead`.

    Raises:
        ValueError: unknown similarity or pooling, or several outputs for regression.

    Source: Reimers and Gurevych 2019, section 3 (mean of the states, cosine, squared error).
    """

    def __init__(
        self,
        num_outputs: int,
        similarity: str = "cosine",
        score_range: tuple[float, float] = (0.0, 1.0),
        dropout: float = 0.0,
        regression: bool = False,
        pooling: str | None = None,
        mixed: bool = False,
        scaled: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if similarity not in SIMILARITIES:
            raise ValueError(
                f"similarity: expected one of {', '.join(SIMILARITIES)}, got {similarity!r}"
            )
        self.reads(num_outputs, mixed, regression, pooling, scaled)
        self.similarity = similarity
        self.score_range = tuple(score_range)
        self.dropout = dropout
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = _line(*self.score_range) if regression else output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        self.built_width(encoded_shape)
        self.dense.build((None, 1))

    def vectors(self, encoded, inputs=None, training=None) -> list:
        """What it reads of each text: `[batch, width]`."""
        return read_vectors(encoded, inputs, self.pooling, self.mix, self.scaling, training)

    def call(self, encoded, inputs=None, training=None):
        vectors = self.vectors(encoded, inputs, training)
        vectors = [self.dropout_layer(vector, training=training) for vector in vectors]
        u, v = (tf.cast(vector, tf.float32) for vector in vectors)
        logits = self.dense(SIMILARITIES[self.similarity](u, v)[:, None])
        return logits[:, 0] if self.regression else logits


def _line(low: float, high: float) -> keras.layers.Dense:
    """From 0 and 1 to the lowest and the highest score, at first."""
    return keras.layers.Dense(
        1,
        kernel_initializer=keras.initializers.Constant(high - low),
        bias_initializer=keras.initializers.Constant(low),
        dtype="float32",
        name="output",
    )


def of_scores(similarity: str, task: Task) -> dict:
    """The arguments of a head for a task.

    Raises:
        ConfigError: of scores without a range, whose line would start between 0 and 1, so that the
            scores of 0 to 100 are never reached.
    """
    if task.labels:
        return {"similarity": similarity}
    if task.label_range is None:
        raise ConfigError(
            "data.label_range: expected the lowest and the highest score for the head "
            f"{similarity}, which starts there, got null; set data.label_range: [LOW, HIGH], or in "
            "Python Task(label_range=(LOW, HIGH))"
        )
    return {"similarity": similarity, "score_range": task.label_range}
