"""Kinds of task → what the graph of an export does with texts, and with a model's answers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tf_adapt.data.packing.prepared import Limits
from tf_adapt.serving.by_kind.written_texts import refuse_other_exports
from tf_adapt.serving.exports import written
from tf_adapt.serving.exports.by_kind import (
    classification,
    dialog,
    multilabel_classification,
    regression,
    span_extraction,
    tagging,
    text_generation,
)
from tf_adapt.serving.exports.export_parts import traced
from tf_adapt.tasks.task import Task


@dataclass(frozen=True)
class Row:
    """A kind of task in the graph of an export.

    Args:
        called: a function of a dict of inputs → one of inputs by name (`serving.kinds.Row.inputs`).
        named: a model's answer, the task, its labels, the inputs → the outputs.
        texts: the checked inputs → the texts that a model reads.
        packed: texts, preprocessor, whether pairs are read together, limits → a model's `inputs`.
        predicted: a `ModelFromText`, texts → its answer.
        of_texts: answers to what was packed, this, texts → answers to the texts.
        combined: a combination, answers of several models, texts → one answer.
        parts: as `tf_adapt.serving.exports.export_parts.traced`.
        begin: of what writes texts: model, texts, limits, most new tokens → what the model's
            `read` takes.
        signatures: a `ModelFromText`, `texts` of checked inputs, specs of these → further
            signatures by name.
        check_other: refuses kinds of which there is a SavedModel of one model alone.
    """

    called: Callable[[Callable[[dict], dict]], Callable[..., dict]]
    named: Callable[[dict, Task, Any, dict], dict]
    texts: Callable[[dict], Any] = classification.columns
    packed: Callable[[Any, Any, bool, Limits], dict] = classification.packed
    predicted: Callable[[Any, Any], dict] = classification.predicted
    of_texts: Callable[[dict, dict, Any], dict] = classification.of_rows_of_texts
    combined: Callable[[Callable, list[dict], Any], dict] = classification.combined
    parts: Callable[..., dict[str, Any]] = traced
    begin: Callable[..., dict] | None = None
    signatures: Callable[..., dict[str, Any]] = lambda *given: {}
    check_other: Callable[[], None] = lambda: None


_LABEL = Row(classification.of_text, classification.named)
_NUMBER = Row(classification.of_text, regression.named)


def _written(called: Callable, begin: Callable, output: str) -> Row:
    return Row(
        called,
        lambda texts, *given: {output: texts},
        predicted=written.predicted,
        parts=span_extraction.no_parts,
        begin=begin,
        signatures=partial(written.signatures, output=output),
        check_other=refuse_other_exports,
    )


KINDS = {
    "classification": _LABEL,
    "multilabel_classification": replace(_LABEL, named=multilabel_classification.named),
    "regression": _NUMBER,
    "pair_classification": replace(_LABEL, called=classification.of_pair),
    "pair_regression": replace(_NUMBER, called=classification.of_pair),
    "tagging": Row(
        tagging.of_tokens,
        tagging.named,
        tagging.words_of,
        tagging.packed,
        of_texts=tagging.of_sentences,
        combined=tagging.combined,
    ),
    "span_extraction": Row(
        span_extraction.of_question,
        span_extraction.named,
        predicted=span_extraction.predicted,
        parts=span_extraction.no_parts,
    ),
    "text_generation": _written(classification.of_text, text_generation.sources, "text"),
    "dialog": _written(dialog.of_dialogue, dialog.prompts, "reply"),
}
