"""A trained model as a SavedModel that takes raw text, for TensorFlow Serving and `predict`.

The SavedModel holds vocabulary and labels; it needs TensorFlow and tensorflow-text, nothing else.
"""

import functools
import json
import os
from pathlib import Path

import tensorflow as tf

from hub_modules.export import save_module
from hub_modules.half_kernels import given_kernels, half_kernels, half_layers
from hub_modules.manifest import write_manifest
from hub_modules.preprocess import cut_words, split_words
from tf_adapt.data.context import check_document_context, context_windows, pack_windows
from tf_adapt.data.prepare import checked_limit
from tf_adapt.files import publish_folder
from tf_adapt.model import AdaptedModel, check_answers
from tf_adapt.tasks import Task

EXPORT = "export"
_TEXTS = {
    name: tf.TensorSpec([None], tf.string, name=name) for name in ("text", "text_a", "text_b")
}
_TOKENS = tf.TensorSpec([None, None], tf.string, name="tokens")


def export(
    model: AdaptedModel,
    folder: str | os.PathLike,
    max_length: int | None = None,
    truncate: bool = False,
    data: dict | None = None,
    document_context: bool = False,
) -> Path:
    """Writes `folder` as a SavedModel with the signature `serving_default`.

    Shapes: `text` (pairs: `text_a`, `text_b`) `[batch] string` → `label` `[batch] string` and
    `scores` `[batch, labels] float32` (probabilities), or for regression `score` `[batch] float32`.
    Tagging: `tokens` `[batch, words] string`, padded with "" → `tags` `[batch, words] string` (""
    at padding) and `scores` `[batch, words, tags]`. A CRF's tags are its best path, within the
    constraints of the tag scheme, its scores the probabilities of each word's tags.

    A served batch is answered as a whole, so a text without content (empty, white space) is no
    error there as it is in `predict`: it gets the label that the model has for no words at all.

    Args:
        max_length: most units of an input; by default the encoder's. A longer text is an error for
            the caller of the served model, or cut with `truncate`; longer sentences in tagging are
            split and every word still gets its tag.
        data: the `data` section of a run's config, so that `tf-adapt predict` reads the same files
            for the export as for the run.
        document_context: as the model was trained; a row of words is then a document: where it is
            longer than the model's limit, its parts are read with what stands around them.

    Raises:
        ArtifactError: the folder exists or cannot be written.
        ConfigError: `max_length` is out of range, or the model is a language model.
    """
    check_answers(model.task)
    folder = Path(folder)
    if document_context:
        check_document_context(model.task, model.encoder)
    limit = checked_limit(max_length, model.encoder)
    module = ServedModel(model, limit, truncate, document_context)
    with publish_folder(folder) as aside:
        save_module(module, aside, {"serving_default": module.signature()})
        description = {"task": model.task.get_config(), "data": data}
        (aside / "task.json").write_text(json.dumps(description, ensure_ascii=False), "utf-8")
        write_manifest(aside, {"kind": EXPORT})
    return folder


def next_version(folder: str | os.PathLike) -> Path:
    """The next numbered folder under `folder`, as TensorFlow Serving expects them."""
    taken = [int(path.name) for path in Path(folder).glob("*") if path.name.isdecimal()]
    return Path(folder) / str(max(taken, default=0) + 1)


class ServedModel(tf.__internal__.tracking.AutoTrackable):
    """Raw text → labels and scores, with everything that it needs tracked for saving."""

    def __init__(
        self, model: AdaptedModel, max_length: int, truncate: bool, document_context: bool = False
    ):
        # Losses that are added in training have no part in an answer.
        unused = {id(one) for auxiliary in model.auxiliaries for one in auxiliary.variables}
        unused |= {id(layer.kernel) for layer in half_layers(model)}
        self.variables = [one.value for one in model.variables if id(one) not in unused]
        self.kernels = [tf.Variable(one, trainable=False) for one in half_kernels(model)]
        self.preprocessor = model.encoder.preprocessor
        # A black box keeps tables and assets of its own.
        self.black_box = getattr(model.encoder.encoder, "module", None)
        self.labels = None if model.task.is_regression else tf.constant(model.task.labels)
        self._predict = ModelFromText(model, self.kernels, max_length, truncate, document_context)

    def signature(self):
        """The traced function of the task's signature."""
        task = self._predict.task
        # Nothing in it needs AutoGraph, which would translate all of Keras.
        traced = functools.partial(tf.function, autograph=False)
        if task.is_tagging:
            return traced(self._tags, input_signature=[_TOKENS])
        if task.is_pair:
            specs = [_TEXTS["text_a"], _TEXTS["text_b"]]
            return traced(
                lambda text_a, text_b: self._label([text_a, text_b]), input_signature=specs
            )
        return traced(lambda text: self._label([text]), input_signature=[_TEXTS["text"]])

    def _label(self, texts: list) -> dict:
        answer = self._predict.from_texts(texts)
        if self.labels is None:
            return answer
        return {
            "label": tf.gather(self.labels, answer["label"]),
            "scores": answer["probabilities"],
        }

    def _tags(self, tokens) -> dict:
        # Padding stands at the end of a row: a row's length is the place of its last real word.
        places = tf.range(1, tf.shape(tokens)[1] + 1)
        lengths = tf.reduce_max(tf.where(tokens == "", 0, places), axis=1)
        answer = self._predict.from_words(tf.RaggedTensor.from_tensor(tokens, lengths=lengths))
        tags, scores = answer["label"], answer["probabilities"]
        tags = tags.with_flat_values(tf.gather(self.labels, tags.flat_values))
        width, num_tags = tf.shape(tokens)[1], self.labels.shape[0]
        return {
            "tags": tags.to_tensor("", shape=tf.stack([-1, width])),
            "scores": scores.to_tensor(shape=tf.stack([-1, width, num_tags])),
        }


class ModelFromText:
    """A model's outputs for raw text, in the graph; over-long inputs are refused, cut or split."""

    def __init__(
        self,
        model: AdaptedModel,
        kernels: list,
        max_length: int,
        truncate: bool,
        document_context: bool = False,
    ):
        self.task: Task = model.task
        self._model = model
        self._kernels = kernels
        self._preprocessor = model.encoder.preprocessor
        self._joint_pairs = model.encoder.joint_pairs
        self._max_length = max_length
        self._truncate = truncate
        self._document_context = document_context

    def from_texts(self, texts: list) -> dict:
        """`[batch] string` a segment → what `answers` says of each example."""
        segments = [self._preprocessor.tokenize(text) for text in texts]
        groups = [segments] if self._joint_pairs else [[segment] for segment in segments]
        inputs = {
            name: self._preprocessor.pack(self._fitted(group))
            for name, group in zip("ab", groups, strict=False)
        }
        return self._answers(inputs)

    def _answers(self, inputs: dict) -> dict:
        with given_kernels(self._model, self._kernels):
            return self._model.answers(inputs)

    def _fitted(self, segments: list) -> list:
        limit = self._max_length - self._preprocessor.special_tokens(len(segments))
        if self._truncate:
            return self._preprocessor.truncate(segments, limit)[0]
        lengths = sum(segment.row_lengths() for segment in segments)
        with tf.control_dependencies(self._check(lengths, limit, "an input")):
            return [tf.identity(segment) for segment in segments]

    @staticmethod
    def _check(lengths, limit: int, what: str) -> list:
        """What must run before an over-long input is used: an error for the caller."""
        check = tf.debugging.assert_less_equal(
            lengths,
            tf.cast(limit, lengths.dtype),
            message=f"{what} is longer than the {limit} units that the model takes; shorten it, "
            "or export with truncation",
        )
        return [] if check is None else [check]

    def from_words(self, words: tf.RaggedTensor) -> dict:
        """`[batch, (words)] string` → what `answers` says of each word, `[batch, (words), …]`."""
        units = self._preprocessor.tokenize_words(words)
        budget = self._max_length - self._preprocessor.special_tokens(1)
        if self._truncate:
            units = cut_words(units, budget)
        else:
            check = self._check(units.values.row_lengths(), budget, "a single word")
            with tf.control_dependencies(check):
                units = tf.identity(units)
        chunks = split_words(units, budget)
        if self._document_context:
            windows = context_windows(chunks, words.row_splits, budget)
            inputs = pack_windows(self._preprocessor, chunks, windows, tf.range(chunks.nrows()))
        else:
            inputs = self._preprocessor.pack_words(chunks)

        def put_together(values):
            in_chunks = tf.RaggedTensor.from_tensor(values, lengths=chunks.row_lengths())
            # Chunks keep the order of the words: the sentences' own row splits fit them.
            return tf.RaggedTensor.from_row_splits(in_chunks.flat_values, words.row_splits)

        answers = self._answers({"a": inputs})
        return {name: put_together(values) for name, values in answers.items()}
