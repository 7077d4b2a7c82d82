"""Predictions of a trained model, and an encoder's features, for texts in memory."""

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from hub_modules.half_kernels import half_kernels
from tf_adapt.data.batches import PreparedData, prepare, shortest_first, sorted_batches
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.in_memory import in_memory_records
from tf_adapt.encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.files import write_bytes, write_text
from tf_adapt.model import AdaptedModel, check_answers
from tf_adapt.monitoring import tracked
from tf_adapt.spans import span_scores
from tf_adapt.tasks import Task

# So many are packed at once: to trace a dataset's graph takes as long as a hundred texts.
FEW_BATCHES = 32


@dataclass(frozen=True)
class Prediction:
    """What a model says of one example.

    Attributes:
        label: the label; a number for regression; for tagging a tuple with one tag a word.
        scores: probability of each label, in the order of the task's labels; empty for regression;
            for tagging the probability of each word's tag.
    """

    label: str | float | tuple[str, ...]
    scores: tuple[float, ...]


def predict(
    model: AdaptedModel,
    data: Sequence,
    batch_size: int = 32,
    max_length: int | None = None,
    truncate: bool = False,
    progress: bool = False,
    document_context: bool = False,
) -> list[Prediction]:
    """Predicts texts, pairs of texts or sentences of words: one `Prediction` each, in order.

    Args:
        data: as for `batches`: texts, pairs, lists of words, records, or a pandas frame. Labels
            are not looked at.
        max_length, truncate, document_context: see `batches`.
        progress: show a progress bar.

    Raises:
        ConfigError: the model is a language model.
        DataError: an example is empty or too long.
    """
    check_answers(model.task)
    records = [_without_label(record) for record in in_memory_records(data, model.task)]
    prepared = prepare(records, model.task, model.encoder, max_length, truncate, document_context)
    return to_predictions(model.task, records, model_answers(model, prepared, batch_size, progress))


def model_answers(
    model: AdaptedModel, prepared: PreparedData, batch_size: int, progress: bool = False
) -> dict[str, np.ndarray]:
    """What `answers` says of all examples, in the order of the data; tagging: of all words."""
    if prepared.features is None and len(prepared.lengths) <= FEW_BATCHES * batch_size:
        order = shortest_first(prepared, batch_size)
        batches = [prepared.packed_inputs(tf.constant(examples)) for examples in order]
        spec = tf.nest.map_structure(_of_any_length, batches[0])
    else:
        dataset, order = sorted_batches(prepared, batch_size)
        batches = inputs_of(dataset)
        spec = batches.element_spec
    kernels = half_kernels(model)
    model.answer.get_concrete_function(spec, kernels)  # else one for each new shape
    found: dict[str, list] = {}
    for inputs, examples in zip(tracked(batches, "predicting", progress), order, strict=True):
        words = word_mask(inputs["a"]) if model.task.is_tagging else None
        for name, values in model.answer(inputs, kernels).items():
            rows = found.setdefault(name, [None] * len(prepared.lengths))
            for place, (example, row) in enumerate(zip(examples, values.numpy(), strict=True)):
                rows[example] = row if words is None else row[words[place]]
    joined = np.concatenate if model.task.is_tagging else np.stack
    return {name: joined(rows) for name, rows in found.items()}


def inputs_of(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The batches without their targets."""
    if not isinstance(dataset.element_spec, tuple):
        return dataset
    return dataset.map(lambda inputs, targets: inputs)


def _of_any_length(tensor: tf.Tensor) -> tf.TensorSpec:
    """What a batch of texts is: `[batch]`, `[batch, time]`, `[batch, time, characters]`."""
    return tf.TensorSpec([None, None, *tensor.shape[2:]][: tensor.shape.rank], tensor.dtype)


def word_mask(inputs: dict) -> np.ndarray:
    """Which places of a batch of sentences are words: `[batch, words] bool`."""
    if "first_piece" in inputs:
        return inputs["first_piece"].numpy() >= 0
    if "sequence_len" in inputs:
        return tf.sequence_mask(inputs["sequence_len"], inputs["tokens"].shape[1]).numpy()
    return inputs["character_ids"].numpy().any(axis=-1)


def to_predictions(task: Task, records: list, answer: dict[str, np.ndarray]) -> list[Prediction]:
    """Labels and probabilities of what `model_answers` returned for these records."""
    if task.is_regression:
        return [Prediction(float(score), ()) for score in answer["score"]]
    best, probabilities = answer["label"], answer["probabilities"]
    if not task.is_tagging:
        return [
            Prediction(task.labels[label], tuple(map(float, row)))
            for label, row in zip(best, probabilities, strict=True)
        ]
    ends = np.cumsum([len(record.words) for record in records])
    certainty = probabilities[np.arange(len(best)), best]
    return [
        Prediction(
            tuple(task.labels[label] for label in best[end - len(record.words) : end]),
            tuple(map(float, certainty[end - len(record.words) : end])),
        )
        for record, end in zip(records, ends, strict=True)
    ]


def sentence_scores(
    task: Task, sentences: list[TaggedSentence], predictions: list[Prediction]
) -> dict[str, float]:
    """Span F1, precision and recall, and strict span F1, of whole sentences.

    The metrics of the same names see the parts of a sentence that is longer than the encoder's
    limit one by one, and would count an entity that the limit cuts as two.
    """
    predicted = [one.label for one in predictions]
    return span_scores([sentence.tags for sentence in sentences], predicted, task.scheme)


def write_predictions(
    path: str | os.PathLike, task: Task, records: list, predictions: list[Prediction]
) -> None:
    """Writes one line for each example, in order; for tagging CoNLL columns, word and tag parted by
    a tab (a word may hold a blank).

    Sentence tasks: tab-separated with a header: `prediction` and one column of probabilities a
    label (regression: `prediction` alone).
    """
    if task.is_tagging:
        sentences = (
            "".join(f"{word}\t{tag}\n" for word, tag in zip(record.words, one.label, strict=True))
            for record, one in zip(records, predictions, strict=True)
        )
        write_text(path, "\n".join(sentences))
        return
    names = [] if task.is_regression else task.labels
    rows = ["\t".join(["prediction", *names])]
    for one in predictions:
        label = f"{one.label:.6f}" if task.is_regression else one.label
        rows.append("\t".join([label, *(f"{score:.6f}" for score in one.scores)]))
    write_text(path, "\n".join(rows) + "\n")


def encode(
    encoder: HubEncoder,
    texts: Sequence[str | Record],
    batch_size: int = 32,
    progress: bool = False,
    layer: int | None = None,
) -> list[np.ndarray]:
    """Features of each text: one array `[layers, units, width] float32`, bottom layer first.

    Units are what the encoder reads: for BERT word pieces with `[CLS]` and `[SEP]`, for ELMo the
    words between white space.

    Args:
        layer: number of the one layer that is wanted, −1 for the top one: `[units, width]` then.

    Raises:
        ConfigError: there is no such layer.
        DataError: a text is empty or too long.
    """
    wanted = slice(None) if layer is None else _one_layer(encoder, layer)
    task = Task("classification", labels=["none"])
    prepared = prepare(in_memory_records(list(texts), task), task, encoder, None, False)
    features = [None] * len(prepared.lengths)
    units = prepared.segments[0]
    kernels = half_kernels(encoder)
    # Else one would be traced for each number of texts.
    encoder.forward_texts.get_concrete_function(
        tf.RaggedTensorSpec([None] * units.shape.rank, units.dtype, units.ragged_rank),
        tf.TensorSpec([None], tf.int64),
        kernels,
    )
    for examples in tracked(shortest_first(prepared, batch_size), "encoding", progress):
        encoded = encoder.forward_texts(units, tf.constant(examples), kernels)
        layers = tf.stack([tf.cast(one, tf.float32) for one in encoded["layers"][wanted]], axis=1)
        lengths = tf.math.count_nonzero(encoded["mask"], axis=1).numpy()
        for example, states, length in zip(examples, layers.numpy(), lengths, strict=True):
            # A copy: the text alone is kept, not its batch.
            real = states[:, :length] if layer is None else states[0, :length]
            features[example] = real.copy()
    return features


def _one_layer(encoder: HubEncoder, layer: int) -> slice:
    count = encoder.num_layers
    if not -count <= layer < count:
        raise ConfigError(f"layer: expected {-count} to {count - 1}, got {layer}")
    return slice(layer % count, layer % count + 1)


def write_features(path: str | os.PathLike, features: list[np.ndarray]) -> None:
    """Writes HDF5 in bilm-tf's layout: data set "i" holds text i, `[layers, units, width]`.

    Raises:
        ArtifactError: the file cannot be written.
    """
    # Keras needs h5py, so it is there; imported here because nothing else of this file does.
    import h5py

    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        for index, array in enumerate(features):
            file.create_dataset(str(index), data=array, dtype="float32")
    write_bytes(path, content.getvalue())


def _without_label(record: Record | TaggedSentence) -> Record | TaggedSentence:
    if isinstance(record, TaggedSentence):
        return TaggedSentence(record.words, None, record.where, record.document)
    return Record(record.text_a, record.text_b, None, record.where, record.genre)
