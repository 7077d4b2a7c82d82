"""Records as lines of a file that other processes read; what a reader would refuse is refused."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tf_adapt.data.formats import (
    Record,
    TaggedSentence,
    check_text,
    listed_labels,
    number_label,
    text_label,
)
from tf_adapt.data.formats.conll import DOCUMENT_START
from tf_adapt.errors import DataError
from tf_adapt.printing.words import counted

_PART_FIELDS = ("\t", "\n", "\r")


def json_lines(
    records: list[Record],
    kind: str,
    called: Mapping[str, str],
    label: Callable[[Any, str, str], Any],
) -> str:
    """A JSON object a line.

    Args:
        called: what the columns of the data are called, where it differs.
        label: a label, its place, the kind → the label in a file.

    Raises:
        DataError: an example has no label, or no group where others have one.
    """
    _check_present(records)
    return "".join(_json_line(record, kind, called, label) for record in records)


def names_of_fields(text: str) -> dict[str, str]:
    """The columns of such lines, as `data.columns` of a config."""
    return {role: role for role in json.loads(text[: text.index("\n")])}


def name_of_label(label: Any, where: str, kind: str) -> str:
    """One label of several."""
    if isinstance(label, float):
        raise DataError(
            f"{where}: expected a text or a whole number as label for {kind}, got "
            f"{label}; a column that lacked values holds such numbers: `.astype(int)`"
        )
    return text_label(label, where)


def names_of_labels(labels: Any, where: str, kind: str) -> tuple[str, ...]:
    """Any number of labels."""
    return listed_labels(labels, where)


def number(label: Any, where: str, kind: str) -> float:
    """A number as label."""
    return number_label(label, where)


def conll_lines(sentences: list[TaggedSentence], kind: str, called: Mapping[str, str]) -> str:
    """A word and its tag a line."""
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
            if not word or word == DOCUMENT_START or any(mark in word for mark in _PART_FIELDS):
                raise DataError(
                    f"{sentence.where}: expected words without tabs and line breaks, got {word!r}"
                )
            lines.append(f"{check_text(word, sentence.where, 'words')}\t{tag}")
        lines.append("")
    return "\n".join(lines) + "\n"


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


def _json_line(record: Record, kind: str, called: Mapping[str, str], label: Callable) -> str:
    fields: dict[str, Any] = {}
    for role in ("text_a", "text_b"):
        text = getattr(record, role)
        if text is not None:
            fields[role] = check_text(text, record.where, called.get(role, role))
    given = record.label.item() if isinstance(record.label, np.generic) else record.label
    fields["label"] = label(given, record.where, kind)
    if record.group is not None:
        fields["group"] = record.group
    return json.dumps(fields, ensure_ascii=False) + "\n"
