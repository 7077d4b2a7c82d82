"""Data in Python as a file that other processes read: JSON lines, for tagging CoNLL columns.

What a reader would refuse is refused here, by the number of the example.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tf_adapt.data.datasets import label_parser
from tf_adapt.data.formats import Record, TaggedSentence, check_text
from tf_adapt.data.formats.conll import DOCUMENT_START
from tf_adapt.data.in_memory.records import in_memory_records
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.printing.words import counted
from tf_adapt.tasks.kinds import MULTILABEL, PAIRS, REGRESSIONS

_PART_FIELDS = ("\t", "\n", "\r")


@dataclass(frozen=True)
class Form:
    """What an example is, as a task says it, without TensorFlow.

    Attributes:
        labels: where a matrix says which apply.
        scheme: of tags.
    """

    kind: str
    labels: tuple[str, ...] = ()
    scheme: str = "IOB2"

    @property
    def is_pair(self) -> bool:
        """Whether an example is two texts."""
        return self.kind in PAIRS

    @property
    def is_tagging(self) -> bool:
        """Whether an example is words with tags."""
        return self.kind == "tagging"

    @property
    def is_span_extraction(self) -> bool:
        """Whether an example is a question and a context; in files of Python's data it never is."""
        return False

    @property
    def is_multilabel(self) -> bool:
        """Whether an example has any number of labels."""
        return self.kind == MULTILABEL

    @property
    def file_format(self) -> str:
        """As `data.format` of a config."""
        return "conll" if self.is_tagging else "jsonl"

    @property
    def needed(self) -> tuple[str, ...]:
        """What every example has."""
        if self.is_tagging:
            return ("words", "tags")
        return ("text_a", "text_b", "label") if self.is_pair else ("text_a", "label")


def file_text(data: Any, form: Form, columns: Mapping[str, str] | None, name: str) -> str:
    """The file's text: a JSON object a line, or a word and its tag a line.

    Args:
        data: as for `in_memory_records`, with labels.
        columns: of a frame, a dict of columns or rows that are dicts: which hold `text`, or
            `text_a` and `text_b`, `label` and `group` (tagging: `words` and `tags`); others are
            left out. None: those of these names, and there are no others.
        name: of the data, in messages.

    Raises:
        ConfigError: `columns` names other things, or data without names.
        DataError: a column is missing; an example has no label, or what no file of its kind holds;
            as `in_memory_records`.
    """
    chosen = _chosen(data, form, columns, name)
    try:
        records = in_memory_records(chosen, form)
        if form.is_tagging:
            return _conll(records, form)
        _check_present(records)
        called = {} if columns is None else _canonical(columns)
        return "".join(_json_line(record, form, called) for record in records)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def file_columns(text: str, form: Form) -> dict[str, str | int]:
    """What holds what in a text of `file_text`, as `data.columns` of a config."""
    if form.is_tagging:
        return {"words": 0, "tags": 1}
    return {role: role for role in json.loads(text[: text.index("\n")])}


def _canonical(columns: Mapping[str, str]) -> dict[str, str]:
    return {"text_a" if role == "text" else role: column for role, column in columns.items()}


def _chosen(data: Any, form: Form, columns: Mapping[str, str] | None, name: str) -> Any:
    """Data with named columns as a dict of those that are used, or such rows; others as they are.

    Raises:
        ConfigError, DataError: as `file_text`.
    """
    names = _names(data)
    if names is None:
        if columns is not None:
            raise ConfigError(
                f"columns: expected none for {name}, whose columns have no names; leave it out, or "
                "give a pandas frame, a dict of columns or rows that are dicts"
            )
        return data
    roles = _canonical({one: one for one in names} if columns is None else columns)
    _check_roles(roles, form, columns is not None, name)
    lacking = [column for column in roles.values() if names.count(column) != 1]
    if lacking:
        raise DataError(
            f"{name}: expected one column {lacking[0]!r}, got the columns "
            f"{', '.join(map(repr, names))}; correct `columns`"
        )
    if not isinstance(data, list):
        return {role: data[column] for role, column in roles.items()}
    for number, row in enumerate(data, 1):
        absent = [column for column in roles.values() if column not in row]
        if absent:
            raise DataError(
                f"{name}: example {number}: expected a field {absent[0]!r}, got "
                f"{', '.join(map(repr, row))}; add it"
            )
    return [{role: row[column] for role, column in roles.items()} for row in data]


def _names(data: Any) -> list | None:
    """Of the columns of a frame, a dict or rows that are dicts; None of what has none."""
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # a pandas frame
        return list(data.columns)
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        data = data[0]
    return list(data) if isinstance(data, Mapping) else None


def _check_roles(roles: Mapping, form: Form, said: bool, name: str) -> None:
    allowed = form.needed if form.is_tagging else (*form.needed, "group")
    if set(form.needed) <= set(roles) <= set(allowed):
        return
    words = ", ".join(form.needed).replace("text_a, label", "text, label")
    more = "" if form.is_tagging else " (and group, where there is one)"
    got = ", ".join(map(repr, roles)) or "none"
    if said:
        raise ConfigError(f"columns: expected {words}{more} for kind {form.kind}, got {got}")
    example = ", ".join(f'"{role}": "…"' for role in words.split(", "))
    raise DataError(
        f"{name}: expected the columns {words}{more} for kind {form.kind}, got {got}; say which "
        f"hold them: columns={{{example}}}"
    )


def _check_present(records: list[Record]) -> None:
    lacking = [record.where for record in records if record.label is None]
    if lacking:
        raise DataError(
            f"{lacking[0]}: expected a label, got none, as in {counted(len(lacking), 'example')} "
            "in all; fill it in or leave such examples out"
        )
    lacking = [record.where for record in records if record.group is None]
    if 0 < len(lacking) < len(records):
        raise DataError(f"{lacking[0]}: expected a group as others have, got none; fill it in")


def _json_line(record: Record, form: Form, called: Mapping[str, str]) -> str:
    fields: dict[str, Any] = {}
    for role in ("text_a", "text_b"):
        text = getattr(record, role)
        if text is not None:
            fields[role] = check_text(text, record.where, called.get(role, role))
    label = record.label.item() if isinstance(record.label, np.generic) else record.label
    if isinstance(label, float) and form.kind not in REGRESSIONS:
        raise DataError(
            f"{record.where}: expected a text or a whole number as label for {form.kind}, got "
            f"{label}; a column that lacked values holds such numbers: `.astype(int)`"
        )
    fields["label"] = label_parser(form.kind, form.file_format)(label, record.where)
    if record.group is not None:
        fields["group"] = record.group
    return json.dumps(fields, ensure_ascii=False) + "\n"


def _conll(sentences: list[TaggedSentence], form: Form) -> str:
    lines, document = [], sentences[0].document
    for sentence in sentences:
        # Below 0 nobody says which sentences belong together.
        if sentence.document != document and sentence.document >= 0:
            lines += [DOCUMENT_START, ""]
        document = sentence.document
        tags = sentence.tags
        if tags is None or not all(isinstance(tag, str) for tag in tags):
            raise DataError(f"{sentence.where}: expected the name of a tag for each word, got none")
        for word, tag in zip(sentence.words, tags, strict=True):
            if not word or word == DOCUMENT_START or any(one in word for one in _PART_FIELDS):
                raise DataError(
                    f"{sentence.where}: expected words without tabs and line breaks, got {word!r}"
                )
            lines.append(f"{check_text(word, sentence.where, 'words')}\t{tag}")
        lines.append("")
    return "\n".join(lines) + "\n"
