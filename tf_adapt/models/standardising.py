"""Sets the mean and deviation by which a head standardises what it reads of a frozen encoder."""

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hub_modules.native.inference_graph import InferenceGraph
from tf_adapt.data.batches import uncounted
from tf_adapt.layers.texts import layer_vectors

BATCH_SIZE = 32


def standardise(
    model: keras.Model, x: Any, steps: int | None = None, validation_split: float = 0.0
) -> None:
    """Sets mean and deviation to those of the training texts, once; a no-op for other heads.

    A head that has them keeps them, else what it has learned would mean something else.

    Args:
        model: an `AdaptedModel`.
        x: as of `fit`: batches of inputs (and targets), or the inputs of all examples.
        steps: of batches, the number to read; None: all.
        validation_split: of all examples, the share at the end that is not read.

    Raises:
        ConfigError: as `uncounted`.
        DataError, TrainingError: as `Standardisation.adapt`.
    """
    head = getattr(model, "head", None)
    scaling = getattr(head, "scaling", None)
    if scaling is None or scaling.is_set:
        return
    if isinstance(x, dict):
        batches = _of_examples(x, validation_split)
    else:
        given = (batch[0] if isinstance(batch, tuple) else batch for batch in uncounted(x))
        batches = itertools.islice(given, steps)
    scaling.adapt(_vectors(model, batches))


def _of_examples(x: dict, validation_split: float) -> Iterable[dict]:
    examples = tf.data.Dataset.from_tensor_slices(x)
    # As Keras cuts them.
    count = math.floor(int(examples.cardinality()) * (1.0 - validation_split))
    return examples.take(count).batch(BATCH_SIZE)


def _vectors(model: keras.Model, batches: Iterable[dict]) -> Iterator[np.ndarray]:
    """Of each batch, for each column of texts, `[batch, layers, width]`."""
    head = model.head

    def call(inputs: dict):
        columns = [inputs[name] for name in ("a", "b") if name in inputs]
        encoded = [model.encoder(column, training=False) for column in columns]
        return layer_vectors(encoded, inputs["a"], head.pooling, head.mixed)

    vectors = InferenceGraph(model, call).for_pass()
    for inputs in batches:
        for of_column in vectors(inputs):
            yield tf.cast(of_column, tf.float32).numpy()
