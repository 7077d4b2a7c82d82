"""Exports a trained model as a SavedModel on raw text, for TensorFlow Serving and `predict`.

The SavedModel contains vocabulary and labels; it needs only TensorFlow and tensorflow-text.
"""

import functools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from hub_modules.by_family.encoder_module import save_module
from hub_modules.manifest import module_hash, write_manifest
from hub_modules.native.added.lora import low_rank_layers, merged
from hub_modules.native.kernels.half_kernels import given_values, half_kernels, half_layers
from hub_modules.programs.signature_checks import check_shapes, check_text
from hub_modules.programs.trusted import remember
from hub_modules.storage.files import publish_folder
from tf_adapt.data.packing.prepare import check_document_context, checked_limit
from tf_adapt.data.packing.prepared import Limits
from tf_adapt.layers.head_inputs import head_inputs_of
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.kinds import refuse_language_model
from tf_adapt.models.written_texts import written_texts
from tf_adapt.serving.exports.export_parts import (
    parts_that_are_read,
    read_of,
    traced_for_serving,
)
from tf_adapt.serving.exports.kinds import KINDS
from tf_adapt.serving.exports.model_card import CARD, plain_card
from tf_adapt.serving.exports.written import one_row_at_least
from tf_adapt.serving.kinds import KINDS as ANSWERS
from tf_adapt.tasks.task import Task

EXPORT = "export"
_SHAPES = {1: "[batch] string", 2: "[batch, words] string"}  # by rank


def export(
    model: AdaptedModel,
    folder: str | os.PathLike,
    max_length: int | None = None,
    truncate: bool = False,
    data: dict | None = None,
    document_context: bool = False,
    card: str | None = None,
) -> Path:
    """Writes `folder` as a SavedModel with the signature `serving_default`.

    Shapes: `text` (pairs: `text_a`, `text_b`) `[batch] string` → `label` `[batch] string` and
    `scores` `[batch, labels] float32` (probabilities), or for regression `score` `[batch] float32`.
    Multilabel: `text` → `labels` `[batch, labels] string`, "" for labels that are not chosen, and
    `scores` `[batch, labels] float32`, in the same order.
    Tagging: `tokens` `[batch, words] string`, padded with "" → `tags` `[batch, words] string` (""
    at padding) and `scores` `[batch, words, tags] float32`. A CRF's tags are its best path within
    the constraints of the tag scheme, its scores the marginal probabilities of each word's tags.

    Span extraction: `question`, `context` `[batch] string` → `answer` `[batch] string`, "" for no
    answer; `score` `[batch] float32`, its probability; `start` and `end` `[batch] int32`, its
    offsets in the context in characters (Unicode code points), −1 for no answer. A context without
    content has no answer.

    Text generation: `text` → `text` `[batch] string`. Dialog: `persona` `[batch, sentences]` and
    `history` `[batch, turns] string`, the other's last turn at the end, both padded with "" →
    `reply` `[batch] string`, "" for none; the oldest exchanges are left out where the model has no
    room. Both have another signature, `generate`, which takes the scalars `max_new_tokens` (int32),
    `temperature` (float32, 0: as `serving_default`, greedy) and `seed` (int32) too.

    A text without content (empty, white space) is not an error here as it is in `predict`, because
    it would fail the whole batch: it gets the model's label for a text without words.

    An input of another rank, text that is not UTF-8 or that contains a NUL, and pairs of unequal
    numbers are errors for the caller; the message has the input's name, expected and got.

    Args:
        max_length: longest input in tokens, special tokens included; by default the encoder's. A
            longer text is an error for the caller of the served model, or truncated with
            `truncate`; for tagging longer sentences are split and every word still gets its tag,
            for span extraction contexts are read in windows.
        data: the `data` section of a run's config, so that `tf-adapt predict` reads files for the
            export as for the run.
        document_context: as in training. A row of words is then a document: if it is longer than
            the model's limit, its parts are encoded with the words around them as context.
        card: text of the README beside it; by default that of
            `tf_adapt.serving.exports.model_card.plain_card`.

    Raises:
        ArtifactError: the folder exists or cannot be written.
        ConfigError: `max_length` is out of range, or the model is a language model.
    """
    refuse_language_model(model.task)
    folder = Path(folder)
    if document_context:
        check_document_context(model.task, model.encoder)
    limit = checked_limit(max_length, model.encoder)
    with publish_folder(folder) as aside:
        with merged(model.encoder):
            module = ServedModel(model, limit, truncate, document_context)
            module.add_parts()
            save_module(module, aside, module.signatures())
        describe_and_seal(aside, model.task, data, card)
    remember(module_hash(folder))
    return folder


def describe_and_seal(aside: Path, task: Task, data: dict | None, card: str | None) -> None:
    """Writes what stands beside a saved model: its task, its card, and last its manifest."""
    values = task.get_config()
    description = json.dumps({"task": values, "data": data}, ensure_ascii=False)
    (aside / "task.json").write_text(description, "utf-8")
    (aside / CARD).write_text(plain_card(values) if card is None else card, "utf-8")
    write_manifest(aside, {"kind": EXPORT})


def next_version(folder: str | os.PathLike) -> Path:
    """The next numbered folder under `folder`, in TensorFlow Serving's layout."""
    taken = [int(path.name) for path in Path(folder).glob("*") if path.name.isdecimal()]
    return Path(folder) / str(max(taken, default=0) + 1)


class ServedModel(tf.__internal__.tracking.AutoTrackable):
    """Raw text → labels and scores, with all variables and assets tracked for saving.

    Of an encoder with LoRA it may be made, traced and saved inside `merged`.
    """

    def __init__(
        self,
        model: AdaptedModel,
        max_length: int,
        truncate: bool,
        document_context: bool = False,
        given: Sequence[tuple[keras.Variable, tf.Variable]] = (),
        preprocessor: Any = None,
    ):
        """`given` are weights of the model, each with the variable that is read and saved in its
        place; `preprocessor` one that is used in place of the encoder's."""
        kernels = [layer.kernel for layer in half_layers(model)]
        halves = [tf.Variable(kernel, trainable=False) for kernel in half_kernels(model)]
        given = [*given, *zip(kernels, halves, strict=True)]
        # Auxiliary losses are not used in inference.
        unused = {id(weight) for auxiliary in model.auxiliaries for weight in auxiliary.variables}
        unused |= {id(weight) for weight, _ in given}
        merged_layers = [layer for layer in low_rank_layers(model) if layer.merged]
        unused |= {id(weight) for layer in merged_layers for weight in layer.weights}
        unused |= {id(weight) for weight in model.encoder.weights_of_other_tasks(model.task_name)}
        self.variables = [
            variable.value for variable in model.variables if id(variable) not in unused
        ]
        self.given = [value for _, value in given]
        self.preprocessor = preprocessor or model.encoder.preprocessor
        self.writer = getattr(model, "writer", None)
        # The module's own SavedModel has tables and assets.
        self.black_box = getattr(model.encoder.native, "module", None)
        self.labels = None if model.task.labels is None else tf.constant(model.task.labels)
        self._predict = ModelFromText(
            model, given, self.preprocessor, max_length, truncate, document_context
        )

    @property
    def from_text(self) -> "ModelFromText":
        """The model's predictions for raw text, for a graph of several models."""
        return self._predict

    def signature(self):
        """The traced function of the task's signature."""
        row = KINDS[self._predict.task.kind]
        # AutoGraph is not needed, and would convert all of Keras.
        return tf.function(
            row.called(self._answer), input_signature=list(self._specs().values()), autograph=False
        )

    def signatures(self) -> dict[str, Any]:
        """All traced functions of an export of one task, by the names of their signatures."""
        row = KINDS[self._predict.task.kind]

        def texts_of(texts: dict) -> Any:
            return row.texts(self._checked(texts))

        further = row.signatures(self._predict, texts_of, self._specs())
        return {"serving_default": self.signature(), **further}

    def add_parts(self) -> None:
        """Adds the signature as three functions, for other engines, where they can compute it: see
        `tf_adapt.serving.exports.export_parts`."""
        predict = self._predict
        if predict.read is None:
            return
        row = KINDS[predict.task.kind]

        def pack(texts: dict) -> dict:
            return predict.packed(row.texts(self._checked(texts)))

        def answer(texts: dict, packed: dict, encoded: dict) -> dict:
            inputs = {name: tensors | encoded[name] for name, tensors in packed["inputs"].items()}
            answered = predict.answered(
                packed | {"inputs": inputs}, row.texts(self._checked(texts))
            )
            return row.named(answered, predict.task, self.labels, texts)

        for name, function in row.parts(self._specs(), pack, predict.encoded, answer).items():
            setattr(self, name, function)

    def _specs(self) -> dict[str, tf.TensorSpec]:
        inputs = ANSWERS[self._predict.task.kind].inputs
        return {
            name: tf.TensorSpec([None] * rank, tf.string, name=name)
            for name, rank in inputs.items()
        }

    def _answer(self, texts: dict) -> dict:
        task, texts = self._predict.task, self._checked(texts)
        row = KINDS[task.kind]
        return row.named(row.predicted(self._predict, row.texts(texts)), task, self.labels, texts)

    def _checked(self, texts: dict) -> dict:
        ranks = ANSWERS[self._predict.task.kind].inputs
        texts = check_shapes({name: _SHAPES[ranks[name]] for name in texts}, texts)
        return {name: check_text(name, texts[name]) for name in texts}


class ModelFromText:
    """A model's predictions for raw text, in the graph.

    Inputs that are too long are refused or truncated; for tagging, sentences are split.
    """

    def __init__(
        self,
        model: AdaptedModel,
        given: list[tuple[keras.Variable, tf.Variable]],
        preprocessor: Any,
        max_length: int,
        truncate: bool,
        document_context: bool = False,
    ):
        self.task: Task = model.task
        self._model = model
        self._given = given
        self.preprocessor = preprocessor
        self.limits = Limits(max_length, truncate, document_context)
        # The encoder outputs that the head reads, where another engine may compute them.
        self.read = parts_that_are_read(model.encoder, head_inputs_of(model.head))

    def predict(self, texts: list | tf.RaggedTensor) -> dict:
        """`[batch] string` per segment → `AdaptedModel.predictions` of each example; for tagging
        `[batch, (words)] string` → those of each word, `[batch, (words), …]`."""
        return self.answered(self.packed(texts), texts)

    def packed(self, texts: list | tf.RaggedTensor) -> dict:
        """The model's `inputs`; for tagging also the `lengths` in words of parts of sentences."""
        joint = self._model.encoder.joint_pairs
        return KINDS[self.task.kind].packed(texts, self.preprocessor, joint, self.limits)

    def encoded(self, inputs: dict) -> dict:
        """The encoder outputs that the head reads, for the inputs of one text column."""
        with traced_for_serving(self._model), given_values(self._given):
            return read_of(self.read, self._model.encoded(inputs, training=False), inputs)

    def called(self, function: Callable[[AdaptedModel], Any]) -> Any:
        """A function of the model, as it is served."""
        with traced_for_serving(self._model), given_values(self._given):
            return function(self._model)

    @functools.cached_property
    def written(self) -> Callable:
        """What a model writes about texts with settings of `written_texts`, by one graph for all
        signatures."""

        def write(texts: list, settings: dict) -> tf.Tensor:
            begin, rows = KINDS[self.task.kind].begin, tf.shape(texts[0])[0]
            texts = [one_row_at_least(column) for column in texts]
            answers = self.called(
                lambda model: written_texts(
                    model, model.read(begin(model, texts, self.limits, settings["new"])), **settings
                )
            )
            return answers[:rows]

        return tf.function(write, autograph=False)

    def answered(self, packed: dict, texts: list | tf.RaggedTensor) -> dict:
        """The predictions from what `packed` returned; the encoder's outputs may be among it."""
        answers = self.called(lambda model: model.predictions(packed["inputs"]))
        return KINDS[self.task.kind].of_texts(answers, packed, texts)
