"""Kinds of task → what files hold of them, and what reads it. Imports no TensorFlow, no NumPy."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tf_adapt.data import label_reports
from tf_adapt.data.by_kind import labelled_parts as parts
from tf_adapt.data.by_kind import text_generation
from tf_adapt.data.by_kind.choices import LABEL, NUMBER, REPLY, SET, SPAN, TAGS, Choices
from tf_adapt.data.by_kind.tagging import (
    column_problems,
    in_the_tasks_scheme,
    read_sentences,
    with_known_tags,
    with_shown_columns,
)
from tf_adapt.data.by_kind.texts import TABLES, count_missing, read_table
from tf_adapt.data.by_kind.to_predict import Read, sentences_to_predict, texts_to_predict
from tf_adapt.data.formats import (
    Record,
    TaggedSentence,
    joined_labels,
    listed_labels,
    number_label,
    read_squad,
    text_label,
)
from tf_adapt.data.formats.dialogues import DIALOGUES, Exchange
from tf_adapt.data.formats.text import KnownLines, read_texts
from tf_adapt.data.tfds import examples
from tf_adapt.data.tfds.features import CLASSES, NUMBERS, SETS, Readers
from tf_adapt.tasks.answer_scores import exact_match
from tf_adapt.tasks.task import Task

Example = Record | TaggedSentence | Exchange


def _as_given(data: Any) -> Any:
    return data


def _texts_alone(path: KnownLines, data: Any, read: Read) -> list[Example]:
    return read(path, data, False)


def _as_read(examples: list, data: Any, task: Task, path: str) -> list:
    return examples


def _label(example: Record) -> Any:
    return example.label


@dataclass(frozen=True)
class Row:
    """A kind of task in files.

    Args:
        formats: of a user's own files, the default first.
        read: a file, the `data` section, whether with labels → the examples of a user's own file.
        to_predict: a file that was read, the section, the reader of such files → its examples
            without labels, one for each row.
        columns: that such a file has, beside those that it may have (`more_columns`).
        in_place: columns that a file may have in the place of one of these.
        column_problems: the `data` section → its wrong columns, each with a message.
        missing: the labels of a column → how many examples have none.
        shown_columns: those that it shows by itself where none is named.
        text_columns: of a file without labels, where no section says more.
        label_columns: of a labelled one, beside them and what it shows by itself.
        recognised: the `data` section → the same with the columns that its train file shows.
        as_in_task: the labelled examples of a file, of a `data` section, as the task has them.
        known_labels: the same, where labels that the task has not are refused.
        read_tfds: of a named dataset: `tf_adapt.data.tfds.examples`.
        features: of TensorFlow Datasets that labels may be; none: no dataset by `columns`.
        gold: an example → its label, in the form of `tf_adapt.runs.prediction_files`.
        is_right: a prediction, gold → whether it is right.
        labelled_parts: an answer or gold, the tag scheme → its parts, each with label and place.
        choices: what an answer chooses, beside what is true.
        label_report: of examples, as plain values for a report on data.
    """

    formats: tuple[str, ...]
    read: Callable[[str | Path, Any, bool], list[Example]]
    to_predict: Callable[[KnownLines, Any, Read], list[Example]] = _texts_alone
    columns: tuple[str, ...] = ()
    more_columns: tuple[str, ...] = ()
    in_place: Mapping[str, str] = field(default_factory=dict)
    column_problems: Callable[[Any], list[tuple[str, str]]] = lambda data: []
    missing: Callable[[list], int] = count_missing
    shown_columns: tuple[str, ...] = ()
    text_columns: Mapping[str, str | int] = field(default_factory=dict)
    label_columns: Mapping[str, str | int] = field(default_factory=dict)
    recognised: Callable[[Any], Any] = _as_given
    as_in_task: Callable[[list, Any, Task, str], list] = _as_read
    known_labels: Callable[[list, Any, Task, str], list] = _as_read
    read_tfds: Callable = examples.records
    features: Readers = field(default_factory=dict)
    gold: Callable[[Example], Any] = _label
    is_right: Callable[[Any, Any], bool] = operator.eq
    labelled_parts: Callable[[Any, str | None], parts.Parts] = parts.one_label
    choices: Choices = LABEL
    label_report: Callable[[Sequence[Example]], dict[str, Any]] = label_reports.label_counts


_TEXT = Row(
    TABLES,
    partial(read_table, label=dict.fromkeys(TABLES, text_label)),
    to_predict=partial(texts_to_predict, texts=1),
    columns=("text_a", "label"),
    more_columns=("group",),
    text_columns={"text_a": "text_a"},
    label_columns={"label": "label"},
    features=CLASSES,
)
_NUMBER = replace(
    _TEXT,
    read=partial(read_table, label=dict.fromkeys(TABLES, number_label)),
    features=NUMBERS,
    gold=lambda example: float(example.label),
    labelled_parts=parts.none,
    choices=NUMBER,
    label_report=label_reports.target_range,
)
_PAIR = {
    "to_predict": partial(texts_to_predict, texts=2),
    "columns": ("text_a", "text_b", "label"),
    "text_columns": {"text_a": "text_a", "text_b": "text_b"},
}
KINDS = {
    "classification": _TEXT,
    "multilabel_classification": replace(
        _TEXT,
        missing=lambda labels: 0,  # the empty set is a label
        read=partial(
            read_table,
            label={"tsv": joined_labels, "csv": joined_labels, "jsonl": listed_labels},
        ),
        features=SETS,
        labelled_parts=parts.set_of_labels,
        choices=SET,
        label_report=label_reports.set_counts,
    ),
    "regression": _NUMBER,
    "pair_classification": replace(_TEXT, **_PAIR),
    "pair_regression": replace(_NUMBER, **_PAIR),
    "tagging": Row(
        ("conll", "jsonl"),
        read_sentences,
        to_predict=sentences_to_predict,
        columns=("words", "tags"),
        in_place={"text_a": "words"},
        column_problems=column_problems,
        shown_columns=("words", "tags"),
        text_columns={"words": 0},
        recognised=with_shown_columns,
        as_in_task=in_the_tasks_scheme,
        known_labels=with_known_tags,
        read_tfds=examples.sentences,
        gold=lambda example: list(example.tags),
        labelled_parts=parts.entities,
        choices=TAGS,
    ),
    # The keys of SQuAD's JSON are fixed.
    "span_extraction": Row(
        ("squad",),
        lambda path, data, labelled: read_squad(path, labelled, data.memory_mb),
        read_tfds=examples.questions,
        gold=lambda example: example.label.texts,
        is_right=exact_match,
        labelled_parts=parts.none,
        choices=SPAN,
        label_report=label_reports.answer_counts,
    ),
    "dialog": Row(
        ("convai2", "jsonl"),
        lambda path, data, labelled: DIALOGUES[data.format](path, labelled, data.memory_mb),
        gold=lambda example: example.reply,
        is_right=lambda answer, gold: exact_match(answer, (gold,)) == 1.0,
        labelled_parts=parts.none,
        choices=REPLY,
        label_report=label_reports.dialogue_counts,
    ),
    "text_generation": Row(
        text_generation.FORMATS,
        text_generation.read_sources,
        to_predict=text_generation.sources_to_predict,
        columns=("text_a", "label"),
        more_columns=("group",),
        column_problems=text_generation.column_problems,
        shown_columns=("text_a", "label"),
        text_columns={"text_a": "source"},
        label_columns={"label": "target"},
        recognised=text_generation.with_columns,
        is_right=lambda answer, gold: exact_match(answer, (gold,)) == 1.0,
        labelled_parts=parts.none,
        choices=REPLY,
        label_report=label_reports.target_counts,
    ),
    "language_model": Row(
        ("text",),
        lambda path, data, labelled: read_texts(path, data.skip_empty, data.memory_mb)[0],
    ),
}
