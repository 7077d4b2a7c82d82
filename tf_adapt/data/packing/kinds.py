"""Kinds of task → how their examples become tokens, and which encoders read them in context."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tf_adapt.data.packing import targets
from tf_adapt.data.packing.dialog import prepare_dialog
from tf_adapt.data.packing.prepared import Limits, PreparedData
from tf_adapt.data.packing.span_extraction import prepare_spans
from tf_adapt.data.packing.tagging import prepare_tagging
from tf_adapt.data.packing.text_generation import prepare_generation
from tf_adapt.data.packing.texts import prepare_texts
from tf_adapt.tasks.task import Task


@dataclass(frozen=True)
class Row:
    """The packing of a kind of task.

    Args:
        prepare: checked records, task, encoder, limits → see `tf_adapt.data.packing.prepare`.
        families_in_context: of encoders that read an example with its neighbours in a document.
    """

    prepare: Callable[[list, Task, Any, Limits], PreparedData]
    families_in_context: tuple[str, ...] = ()


_text = partial(prepare_texts, names=("text_a",))
_pair = partial(prepare_texts, names=("text_a", "text_b"))
KINDS = {
    "classification": Row(partial(_text, targets=targets.class_ids)),
    "multilabel_classification": Row(partial(_text, targets=targets.label_matrix)),
    "regression": Row(partial(_text, targets=targets.numbers)),
    "pair_classification": Row(partial(_pair, targets=targets.class_ids)),
    "pair_regression": Row(partial(_pair, targets=targets.numbers)),
    "tagging": Row(prepare_tagging, families_in_context=("bert",)),
    "span_extraction": Row(prepare_spans),
    "dialog": Row(prepare_dialog),
    "text_generation": Row(prepare_generation),
    "language_model": Row(partial(_text, targets=targets.placeholders)),
}
