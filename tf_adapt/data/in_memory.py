"""Data that is already in Python (lists, dicts, a pandas frame) as what readers return."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tf_adapt.data.formats import Record, TaggedSentence, check_group
from tf_adapt.data.labels import check_scheme
from tf_adapt.errors import DataError
from tf_adapt.tasks import Task

_COLUMNS = ("text", "text_a", "text_b", "label", "words", "tags")
_COLUMNS_OF_TEXTS = (*_COLUMNS, "group")


def in_memory_records(data: Any, task: Task) -> list[Record | TaggedSentence]:
    """One record for each example, checked for its shape; texts and labels are checked later.

    Args:
        data: a pandas frame with the columns `text` or `text_a` (and `text_b`), `label` and
            `group`; for tagging `words` and `tags`; or a list of such rows as dicts, of records, or
            - one text: `text` or `(text, label)`;
            - a pair: `(text_a, text_b)` or `(text_a, text_b, label)`;
            - tagging: `[word, …]` or `([word, …], [tag, …])`; each is a document of its own, only
              records say which sentences belong together.
        task: says which of these an example is.

    Raises:
        DataError: there are no examples, an example has another form, or tags are not legal in
            the task's scheme.
    """
    if isinstance(data, (str, bytes, Mapping)) or not isinstance(data, Iterable):
        raise DataError(
            f"data: expected a list of examples or a pandas frame, got {type(data).__name__}"
        )
    is_frame = hasattr(data, "to_dict") and hasattr(data, "columns")
    rows = data.to_dict("records") if is_frame else data
    convert = _tagged_sentence if task.is_tagging else _record
    records = [convert(row, task, number) for number, row in enumerate(rows, 1)]
    if not records:
        raise DataError("data: expected at least one example, got none")
    return records


def _record(row: Any, task: Task, number: int) -> Record:
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
    return record


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


def _tagged_sentence(row: Any, task: Task, number: int) -> TaggedSentence:
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
    # Negative, so that it is no document of the records among which the example may stand.
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
    """None for what pandas shows as missing; only NaN differs from itself."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return None if isinstance(value, float) and value != value else value


def _wrong_form(row: Any, task: Task, where: str) -> DataError:
    if task.is_tagging:
        expected = "a list of words, or (words, tags)"
    elif task.is_pair:
        expected = "(text, text) or (text, text, label)"
    else:
        expected = "a text or (text, label)"
    return DataError(f"{where}: expected {expected} for {task.kind}, got {repr(row)[:80]}")
