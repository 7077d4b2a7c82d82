"""Kinds of task → what examples in Python look like, and how they are written. No TensorFlow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.in_memory import lines, rows
from tf_adapt.data.in_memory.values import chosen_labels, values

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task


@dataclass(frozen=True)
class Row:
    """A kind of task in Python.

    Args:
        columns: of the texts of examples, by name.
        target: the name of the column of what is predicted.
        example: a row, the task, its number → the example.
        lines: examples, the kind, names of columns → the text of a file.
        x_and_y: what columns without names are, for messages.
        labels: the column of the target, its name, the task → its values.
        no_dataset: why no `tf.data.Dataset` holds such examples; empty: one may.
        no_file: where examples have no `lines`: what to do instead.
        file_format: of `lines`, as `data.format` of a config.
        file_columns: the text of `lines` → `data.columns` of a config.
        keys_of_form: further keys of its section `data`, which the caller says.
    """

    columns: tuple[str, ...]
    target: str
    example: Callable[[Any, "Task", int], Record | TaggedSentence]
    lines: Callable[[list, str, Mapping[str, str]], str]
    x_and_y: str
    labels: Callable[[Any, Any, "Task"], list] = values
    no_dataset: str = ""
    no_file: str = ""
    file_format: str = "jsonl"
    file_columns: Callable[[str], dict[str, str | int]] = lines.names_of_fields
    keys_of_form: tuple[str, ...] = ()


_text = partial(rows.record, texts=1, label=rows.one_label, form="a text or (text, label)")
_pair = partial(
    rows.record, texts=2, label=rows.one_label, form="(text, text) or (text, text, label)"
)
_names = partial(lines.json_lines, label=lines.name_of_label)
_numbers = partial(lines.json_lines, label=lines.number)
_TEXT = Row(("text",), "label", _text, _names, "(texts, labels)")
_PAIR = Row(
    ("text_a", "text_b"),
    "label",
    _pair,
    _names,
    "((texts_a, texts_b), labels), or (texts_a, texts_b) without labels",
)
KINDS = {
    "classification": _TEXT,
    "multilabel_classification": replace(
        _TEXT,
        example=partial(_text, label=rows.label_names, form="a text or (text, [label, …])"),
        lines=partial(lines.json_lines, label=lines.names_of_labels),
        labels=chosen_labels,
    ),
    "regression": replace(_TEXT, lines=_numbers),
    "pair_classification": _PAIR,
    "pair_regression": replace(_PAIR, lines=_numbers),
    "tagging": Row(
        ("words",),
        "tags",
        rows.tagged_sentence,
        lines.conll_lines,
        "(lists of words, lists of tags)",
        no_dataset="data: expected for tagging a list of (words, tags), a pandas frame or a dict "
        "with the columns words and tags, got a tf.data.Dataset, in which a row of words and a "
        "batch of texts look alike; give one of the others",
        file_format="conll",
        file_columns=lambda text: {"words": 0, "tags": 1},
        keys_of_form=("scheme",),
    ),
    "span_extraction": replace(
        _PAIR,
        example=partial(_pair, label=rows.answers),
        no_file="write the questions to a file of SQuAD's format and name it in the config's "
        "section data",
    ),
    "dialog": Row(
        ("history",),
        "reply",
        rows.exchange,
        _names,
        "exchanges",
        no_dataset="data: expected for dialog a list of {persona, history, reply}, got a "
        "tf.data.Dataset",
        no_file="write the dialogues as JSON lines and name the file in the config's section data",
    ),
    "text_generation": replace(
        _TEXT,
        columns=("source",),
        target="target",
        example=partial(_text, form="a text or (source, target)"),
        x_and_y="(sources, targets)",
    ),
    "language_model": _TEXT,
}
