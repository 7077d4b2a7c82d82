"""Predictions of a trained model and hidden states of an encoder, for texts in memory."""

import io
import os
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.native.inference_graph import InferenceGraph
from tf_adapt.data.batches import PreparedData, in_order, prepare, shortest_first
from tf_adapt.data.in_memory.records import in_memory_records
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.kinds import refuse_language_model
from tf_adapt.printing.progress import tracked
from tf_adapt.serving.prediction.kinds import KINDS
from tf_adapt.serving.prediction.output_files import write_output
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.serving.prediction.rows import check_numbers
from tf_adapt.tasks.task import Task

# Up to here batches are packed without `tf.data`, whose tracing takes as long as a hundred texts.
FEW_BATCHES = 32


def predict(
    model: AdaptedModel,
    data: Any,
    batch_size: int = 32,
    max_length: int | None = None,
    truncate: bool = False,
    progress: bool = False,
    document_context: bool = False,
) -> list[Prediction]:
    """Predicts texts, pairs of texts or sentences of words: one `Prediction` each, in input order.

    Args:
        data: as for `batches`: a list of texts, pairs, lists of words or records; a pandas frame, a
            dict of columns, arrays, tensors, `(x, y)` or a `tf.data.Dataset`. Labels are ignored.
        max_length, truncate, document_context: see `batches`.
        progress: show a progress bar.

    Raises:
        ConfigError: the model is a language model.
        DataError: the data have another form, or an example is empty or too long.
    """
    refuse_language_model(model.task)
    records = [record.without_label() for record in in_memory_records(data, model.task)]
    prepared = prepare(records, model.task, model.encoder, max_length, truncate, document_context)
    return to_predictions(
        model.task, records, batch_predictions(model, prepared, batch_size, progress)
    )


def batch_predictions(
    model: AdaptedModel,
    prepared: PreparedData,
    batch_size: int,
    progress: bool = False,
    graph: InferenceGraph | None = None,
) -> dict[str, np.ndarray]:
    """Class ids and probabilities of every example, in input order; for tagging, of every word.

    Args:
        graph: of the outputs; by default the model's `inference`.

    Returns:
        The arrays of `AdaptedModel.predictions`, `[examples, …]`; for tagging `[words, …]`, the
        words of all sentences concatenated; for span extraction `[rows, …]` and `record_of`
        `[rows]`, the number of each row's question.
    """
    order = shortest_first(prepared, batch_size)
    batches, spec = inputs_in_order(prepared, order)
    predictions, row = (graph or model.inference).for_pass(spec), KINDS[model.task.kind]
    rows_of: dict[str, list] = {}
    for inputs, examples in zip(tracked(batches, "predicting", progress), order, strict=True):
        for name, values in predictions(inputs).items():
            rows = rows_of.setdefault(name, [None] * len(prepared.lengths))
            for example, of_example in zip(
                examples, row.of_examples(values.numpy(), inputs), strict=True
            ):
                rows[example] = of_example
    answer = {name: row.joined(rows) for name, rows in rows_of.items()}
    return answer if prepared.record_of is None else answer | {"record_of": prepared.record_of}


def inputs_in_order(
    prepared: PreparedData, order: list[np.ndarray]
) -> tuple[list[dict] | tf.data.Dataset, Any]:
    """The inputs of these batches of examples, and their spec, for texts of any length.

    Few batches are packed here and now: a dataset would trace a graph for them.

    Args:
        order: the indices of each batch's examples, `[batch] int` each.
    """
    if len(order) <= FEW_BATCHES and prepared.features is None and prepared.dialog is None:
        batches = [prepared.packed_inputs(tf.constant(examples)) for examples in order]
        return batches, tf.nest.map_structure(_of_any_length, batches[0])
    dataset = inputs_of(in_order(prepared, order))
    return dataset, dataset.element_spec


def inputs_of(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The batches of a dataset without targets."""
    if not isinstance(dataset.element_spec, tuple):
        return dataset
    return dataset.map(lambda inputs, targets: inputs)


def _of_any_length(tensor: tf.Tensor) -> tf.TensorSpec:
    """Its spec with unknown batch size and time: `[batch]`, `[batch, time]`, `[batch, time, …]`."""
    return tf.TensorSpec([None, None, *tensor.shape[2:]][: tensor.shape.rank], tensor.dtype)


def to_predictions(task: Task, records: list, answer: dict[str, np.ndarray]) -> list[Prediction]:
    """One `Prediction` per record from the arrays of `batch_predictions`.

    Raises:
        ArtifactError: as `check_numbers`.
    """
    check_numbers(answer)
    return KINDS[task.kind].predictions(task, records, answer)


def encode(
    encoder: HubEncoder,
    texts: Any,
    batch_size: int = 32,
    progress: bool = False,
    layer: int | None = None,
) -> list[np.ndarray]:
    """Hidden states of each text: one array `[layers, tokens, width] float32`, bottom layer first.

    Tokens are word pieces with `[CLS]` and `[SEP]` for BERT, words separated by white space for
    ELMo.

    Args:
        texts: as for `batches`: a list of texts or records; a frame or a dict with the column
            `text`; an array, a tensor or a `tf.data.Dataset` of texts. Labels are ignored.
        layer: index of one layer, −1 for the top; the arrays are then `[tokens, width]`.

    Raises:
        ConfigError: there is no such layer.
        DataError: the texts have another form, or one is empty or too long.
    """
    wanted = slice(None) if layer is None else _one_layer(encoder, layer)
    task = Task("classification", labels=["none"])
    records = [record.without_label() for record in in_memory_records(texts, task)]
    prepared = prepare(records, task, encoder, None, False)
    features = [None] * len(prepared.lengths)
    units = prepared.segments[0]
    forward = encoder.forward_texts.for_pass(
        tf.RaggedTensorSpec([None] * units.shape.rank, units.dtype, units.ragged_rank),
        tf.TensorSpec([None], tf.int64),
    )
    for examples in tracked(shortest_first(prepared, batch_size), "encoding", progress):
        encoded = forward(units, tf.constant(examples))
        layers = tf.stack(
            [tf.cast(layer_states, tf.float32) for layer_states in encoded["layers"][wanted]],
            axis=1,
        )
        lengths = tf.math.count_nonzero(encoded["mask"], axis=1).numpy()
        for example, states, length in zip(examples, layers.numpy(), lengths, strict=True):
            # A copy, because a view would keep the whole batch in memory.
            real = states[:, :length] if layer is None else states[0, :length]
            features[example] = real.copy()
    return features


def _one_layer(encoder: HubEncoder, layer: int) -> slice:
    count = encoder.num_layers
    if not -count <= layer < count:
        raise ConfigError(f"layer: expected {-count} to {count - 1}, got {layer}")
    return slice(layer % count, layer % count + 1)


def write_features(path: str | os.PathLike, features: list[np.ndarray]) -> None:
    """Writes HDF5 in bilm-tf's layout: data set "i" is text i, `[layers, tokens, width] float32`.

    Writes to standard output if `path` is `-`.

    Raises:
        ArtifactError: the file cannot be written.
    """
    # Installed with Keras; imported here because only this function needs it.
    import h5py

    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        for index, array in enumerate(features):
            file.create_dataset(str(index), data=array, dtype="float32")
    write_output(path, [content.getvalue()])
