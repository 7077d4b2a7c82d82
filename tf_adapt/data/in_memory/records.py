"""Records from data in Python: lists, columns, a pandas frame or a `tf.data.Dataset`."""

import operator
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from tf_adapt.data.formats import (
    Answers,
    Record,
    TaggedSentence,
    check_group,
    listed_labels,
)
from tf_adapt.data.in_memory.columns import rows_of
from tf_adapt.data.labels import check_scheme
from tf_adapt.errors import DataError

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task

_COLUMNS = ("text", "text_a", "text_b", "label", "words", "tags")
_COLUMNS_OF_TEXTS = (*_COLUMNS, "group")


def in_memory_records(data: Any, task: "Task") -> list[Record | TaggedSentence]:
    """One record for each example, after a check of its form; texts and labels are checked later.

    Args:
        data: rows, or columns.

            Rows are a *list* (or another iterable) of records, of dicts with the keys below, or of
            - one text: `text` or `(text, label)`;
            - a pair: `(text_a, text_b)` or `(text_a, text_b, label)`;
            - tagging: `[word, …]` or `([word, …], [tag, …])`; each is its own document, only
              records can mark which sentences form one.

            Columns are lists, tuples, arrays, Series or tensors, texts in them `str` or UTF-8:
            - a dict or a pandas frame with `text`, or `text_a` and `text_b`, and optionally `label`
              and `group`; for tagging `words` and `tags`;
            - `(x, y)`: texts (or such a dict) and labels; for pairs `((texts_a, texts_b), y)`, for
              tagging sentences and their tags. A tuple of two columns always means this, hence rows
              must not come in a tuple; for pairs `(texts_a, texts_b)` is `x` without labels;
            - a `tf.data.Dataset` (not for tagging) of texts, `(x, y)` or dicts, batched if its
              texts have an axis; it is read once, in its order, and must be finite.

            A label is a name or an id among the task's labels (whole numbers: `label_ids` in
            `tf_adapt.data.labels`), for a regression a number; for a
            multilabel task a list, tuple or set of names, empty if none applies, or for all
            examples a matrix (array or tensor) of 0 and 1 with a column for each label; for span
            extraction, whose pairs are a question and its context, SQuAD's dict of `text` and
            `answer_start`, empty lists if there is no answer.
        task: its kind selects the form of an example.

    Raises:
        DataError: there are no examples, an example has another form, columns differ in length or
            are not UTF-8, a dataset is infinite, or tags are not legal in the task's scheme.
    """
    rows = rows_of(data, task)
    convert = _tagged_sentence if task.is_tagging else _record
    records = [convert(row, task, number) for number, row in enumerate(rows, 1)]
    if not records:
        raise DataError("data: expected at least one example, got none")
    return records


def _record(row: Any, task: "Task", number: int) -> Record:
    where = f"example {number}"
    if isinstance(row, Record):
        record = row if row.where else replace(row, where=where)
    elif isinstance(row, Mapping):
        record = _record_of_mapping(row, where)
    elif isinstance(row, str):
        record = Record(row, where=where)
    elif isinstance(row, (tuple, list)) and len(row) in ((2, 3) if task.is_pair else (1, 2)):
        record = Record(*row, where=where) if task.is_pair else _text_and_label(row, where)
    else:
        raise _wrong_form(row, task, where)
    texts = [record.text_a] + ([] if record.text_b is None else [record.text_b])
    if len(texts) != 1 + task.is_pair or not all(isinstance(text, str) for text in texts):
        raise _wrong_form(row, task, where)
    if task.is_multilabel and record.label is not None:
        return replace(record, label=_names(record.label, record.where))
    if task.is_span_extraction:
        return replace(record, label=_given_answers(record.label, record.where))
    if not task.is_multilabel and isinstance(record.label, (list, tuple, set, Mapping, np.ndarray)):
        raise DataError(
            f"{record.where}: expected one label, got {repr(record.label)[:80]}; for scores or a "
            "row of 0 and 1 give the index of the largest, `.argmax(axis=1)`"
        )
    return record


def _given_answers(label: Any, where: str) -> Answers | None:
    """The gold answers: `Answers`, or a dict of SQuAD's `text` and `answer_start`."""
    if label is None or isinstance(label, Answers):
        return label
    try:
        texts, starts = tuple(label["text"]), tuple(map(operator.index, label["answer_start"]))
    except (TypeError, KeyError, IndexError):
        texts, starts = (None,), ()
    if len(texts) != len(starts) or not all(isinstance(text, str) for text in texts):
        raise DataError(
            f"{where}: expected answers as {{'text': [text, …], 'answer_start': [offset, …]}}, "
            f"empty lists for none, got {repr(label)[:80]}"
        )
    return Answers(texts, starts)


def _names(labels: Any, where: str) -> tuple[str, ...]:
    is_list = isinstance(labels, (list, tuple, set, np.ndarray))
    # A row of 0 and 1 could be two ids, or a multi-hot vector.
    if is_list and any(isinstance(label, Number) for label in labels):
        raise DataError(
            f"{where}: expected names of labels, got {repr(labels)[:80]}; a matrix of 0 and 1 "
            "must be an array or a tensor, as y or as the column 'label'"
        )
    return listed_labels(labels, where)


def _text_and_label(row: tuple | list, where: str) -> Record:
    return Record(row[0], label=row[1] if len(row) == 2 else None, where=where)


def _record_of_mapping(row: Mapping, where: str) -> Record:
    _check_columns(row, where, _COLUMNS_OF_TEXTS)
    text, group = row.get("text", row.get("text_a")), _present(row.get("group"))
    return Record(
        text,
        _present(row.get("text_b")),
        _present(row.get("label")),
        where,
        group=None if group is None else check_group(group, where),
    )


def _tagged_sentence(row: Any, task: "Task", number: int) -> TaggedSentence:
    where = f"example {number}"
    if isinstance(row, TaggedSentence):
        return row if row.where else replace(row, where=where)
    if isinstance(row, Mapping):
        _check_columns(row, where, _COLUMNS)
        words, tags = row.get("words"), _present(row.get("tags"))
    elif isinstance(row, (tuple, list)) and len(row) == 2 and not isinstance(row[0], str):
        words, tags = row
    else:
        words, tags = row, None
    if isinstance(words, str) or not isinstance(words, Iterable) or isinstance(tags, str):
        raise _wrong_form(row, task, where)
    words, tags = tuple(words), None if tags is None else tuple(tags)
    if not words or not all(isinstance(word, str) for word in words):
        raise _wrong_form(row, task, where)
    if tags is not None and len(tags) != len(words):
        raise DataError(f"{where}: expected {len(words)} tags, one for each word, got {len(tags)}")
    # Negative, so that it differs from the documents of records in the same list.
    sentence = TaggedSentence(words, tags, where, document=-number)
    # Tags may also be given as ids; those are checked against the task's tags only.
    if tags is not None and all(isinstance(tag, str) for tag in tags):
        check_scheme([sentence], task.scheme)
    return sentence


def _check_columns(row: Mapping, where: str, known: tuple[str, ...]) -> None:
    unknown = [name for name in row if name not in known]
    if unknown or ("text" in row and "text_a" in row):
        raise DataError(
            f"{where}: expected the columns text, or text_a and text_b, label and group (tagging: "
            f"words, tags), got {', '.join(map(repr, row))}; choose and rename the columns"
        )


def _present(value: Any) -> Any:
    """The value, or None if pandas treats it as missing; only NaN differs from itself."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return None if isinstance(value, float) and value != value else value


def _wrong_form(row: Any, task: "Task", where: str) -> DataError:
    if task.is_tagging:
        expected = "a list of words, or (words, tags)"
    elif task.is_pair:
        expected = "(text, text) or (text, text, label)"
    else:
        expected = f"a text or (text, {'[label, …]' if task.is_multilabel else 'label'})"
    return DataError(f"{where}: expected {expected} for {task.kind}, got {repr(row)[:80]}")
