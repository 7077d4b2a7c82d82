"""A row in Python (a text, a tuple, a dict, a record) as a record."""

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from tf_adapt.data.formats import Answers, Record, TaggedSentence, check_group, listed_labels
from tf_adapt.data.formats.dialogues import Exchange
from tf_adapt.data.labels import check_scheme
from tf_adapt.errors import DataError

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task

_COLUMNS = ("text", "text_a", "text_b", "label", "words", "tags")
_COLUMNS_OF_TEXTS = (*_COLUMNS, "group")


def record(
    row: Any,
    task: "Task",
    number: int,
    texts: int,
    label: Callable[[Any, str], Any],
    form: str,
) -> Record:
    """A record from a row of texts.

    Args:
        number: of the example.
        texts: of an example.
        label: what is given and its place → the label.
        form: of a row, for messages.

    Raises:
        DataError: the row has another form.
    """
    where = f"example {number}"
    if isinstance(row, Record):
        example = row if row.where else replace(row, where=where)
    elif isinstance(row, Mapping):
        example = _record_of_mapping(row, where)
    elif isinstance(row, str):
        example = Record(row, where=where)
    elif isinstance(row, (tuple, list)) and len(row) in (texts, texts + 1):
        text_b = row[1] if texts == 2 else None
        example = Record(row[0], text_b, row[texts] if len(row) > texts else None, where)
    else:
        raise _wrong_form(row, task, where, form)
    given = [example.text_a] + ([] if example.text_b is None else [example.text_b])
    if len(given) != texts or not all(isinstance(text, str) for text in given):
        raise _wrong_form(row, task, where, form)
    checked = None if example.label is None else label(example.label, example.where)
    return example if checked is example.label else replace(example, label=checked)


def exchange(row: Any, task: "Task", number: int) -> Exchange:
    """An exchange from a record or a dict with `persona`, `history` and, with a label, `reply`.

    Raises:
        DataError: the row has another form.
    """
    where = f"example {number}"
    if isinstance(row, Exchange):
        return row if row.where else replace(row, where=where)
    texts = row if isinstance(row, Mapping) else {}
    lists = [texts.get(name) for name in ("persona", "history")]
    reply = texts.get("reply")
    if not all(isinstance(one, list | tuple) for one in lists) or not isinstance(reply, str | None):
        form = "{'persona': [text, …], 'history': [text, …], 'reply': text}"
        raise _wrong_form(row, task, where, form)
    return Exchange(*map(tuple, lists), reply, (), where, number)


def one_label(label: Any, where: str) -> Any:
    """A label that is one, not several."""
    if isinstance(label, (list, tuple, set, Mapping, np.ndarray)):
        raise DataError(
            f"{where}: expected one label, got {repr(label)[:80]}; for scores or a row of 0 and 1 "
            "give the index of the largest, `.argmax(axis=1)`"
        )
    return label


def answers(label: Any, where: str) -> Answers:
    """The gold answers: `Answers`, or a dict of SQuAD's `text` and `answer_start`."""
    if isinstance(label, Answers):
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


def label_names(labels: Any, where: str) -> tuple[str, ...]:
    """Any number of labels, sorted."""
    is_list = isinstance(labels, (list, tuple, set, np.ndarray))
    # A row of 0 and 1 could be two ids, or a multi-hot vector.
    if is_list and any(isinstance(label, Number) for label in labels):
        raise DataError(
            f"{where}: expected names of labels, got {repr(labels)[:80]}; a matrix of 0 and 1 "
            "must be an array or a tensor, as y or as the column 'label'"
        )
    return listed_labels(labels, where)


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


def tagged_sentence(row: Any, task: "Task", number: int) -> TaggedSentence:
    """A sentence from a row of words, or of words and tags.

    Raises:
        DataError: the row has another form, or a tag is not legal in the task's scheme.
    """
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
        raise _wrong_form(row, task, where, "a list of words, or (words, tags)")
    words, tags = tuple(words), None if tags is None else tuple(tags)
    if not words or not all(isinstance(word, str) for word in words):
        raise _wrong_form(row, task, where, "a list of words, or (words, tags)")
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


def _wrong_form(row: Any, task: "Task", where: str, form: str) -> DataError:
    return DataError(f"{where}: expected {form} for {task.kind}, got {repr(row)[:80]}")
