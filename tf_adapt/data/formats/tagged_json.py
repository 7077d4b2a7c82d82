"""Tagged sentences in JSON lines or a JSON array: lists of words and tags, or texts with spans.

A span is `[start, end, label]` (doccano, spaCy) or an object (Prodigy, doccano) with `start` or
`start_offset`, `end` or `end_offset`, and `label`; offsets count characters, the end is excluded.
spaCy's pairs `[text, {"entities": […]}]` are read as objects with `text`. A text is split into
words (`tf_adapt.data.formats.text_words`), whose tags are in the scheme IOB2.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tf_adapt.data.formats.bad_rows import every_row
from tf_adapt.data.formats.json_objects import json_object, json_values
from tf_adapt.data.formats.records import TaggedSentence, check_outer_space, check_text
from tf_adapt.data.formats.text_words import text_words
from tf_adapt.data.stored.sequences import stored
from tf_adapt.errors import DataError

_STARTS, _ENDS = ("start", "start_offset"), ("end", "end_offset")
Span = tuple[int, int, str]


def read_tagged_json(
    path: str | Path,
    columns: Mapping[str, str],
    names: Sequence[str] | None = None,
    labelled: bool = True,
    may_lack_label: bool = False,
    memory_mb: float = math.inf,
) -> Sequence[TaggedSentence]:
    """The sentences of a file.

    Args:
        path: file in UTF-8.
        columns: the names of the fields: `words` and `tags`, or `text_a` and `tags` (the spans).
        names: of tags that are written as numbers.
        labelled: False reads words only.
        may_lack_label: a sentence without tags gets None, where it is refused otherwise.
        memory_mb: of sentences; more are on disk.

    Raises:
        DataError: not UTF-8 text, or not JSON; a field is missing or has another form; a span
            begins or ends within a word, or two overlap; no example.
    """

    def parsed(value: object, where: str) -> TaggedSentence:
        fields = json_object(as_object(value), where)
        tags = fields.get(columns.get("tags")) if labelled else None
        if labelled and tags is None and not may_lack_label:
            raise DataError(
                f"{where}: expected tags or spans in the field {columns['tags']!r}, got none; add "
                "them, or set data.skip_unlabelled: true"
            )
        if "text_a" not in columns:
            words, tags = _of_words(fields, columns, tags, names, where)
        else:
            words, tags = _of_text(_field(fields, columns["text_a"], where), tags, where)
        place = where.removeprefix(f"{path}:")
        return TaggedSentence(words, tags, f"{path}: line {place}" if place.isdecimal() else where)

    return stored(every_row(path, json_values(path), parsed), memory_mb)


def as_object(value: Any) -> Any:
    """spaCy's `[text, {…}]` as one object; other values as they are."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], dict):
        return {"text": value[0], **value[1]}
    return value


def is_span(value: Any) -> bool:
    """Whether a value has the form of a span."""
    return _span(value) is not None


def _field(fields: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in fields:
        raise DataError(
            f"{where}: expected a field {name!r}, got {', '.join(map(repr, fields)) or 'none'}; "
            "add it, or name the right one in `columns`"
        )
    return fields[name]


def _of_words(
    fields: Mapping[str, Any],
    columns: Mapping[str, str],
    tags: Any,
    names: Sequence[str] | None,
    where: str,
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    words = _field(fields, columns["words"], where)
    if not isinstance(words, list) or not words:
        raise DataError(
            f"{where}: expected a list of words in {columns['words']!r}, got {str(words)[:40]}"
        )
    for word in words:
        if not isinstance(word, str):
            raise DataError(f"{where}: expected words as texts, got {str(word)[:40]}")
        check_text(word, where, columns["words"])
    if tags is None:
        return tuple(words), None
    if not isinstance(tags, list) or len(tags) != len(words):
        got = f"{len(tags)}" if isinstance(tags, list) else str(tags)[:40]
        raise DataError(
            f"{where}: expected {len(words)} tags in {columns['tags']!r}, one for each word, got "
            f"{got}"
        )
    return tuple(words), tuple(_tag(tag, names, where) for tag in tags)


def _tag(tag: Any, names: Sequence[str] | None, where: str) -> str:
    if isinstance(tag, int) and not isinstance(tag, bool):
        if names is None or not 0 <= tag < len(names):
            known = "no data.labels" if names is None else f"{len(names)} of them"
            raise DataError(
                f"{where}: expected the names of tags, or in data.labels the name of each number, "
                f"got the number {tag} and {known}"
            )
        return names[tag]
    if not isinstance(tag, str) or not tag:
        raise DataError(f"{where}: expected the name of a tag, got {str(tag)[:40]!r}")
    return check_outer_space(tag, where)


def _of_text(text: Any, spans: Any, where: str) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    if not isinstance(text, str):
        raise DataError(f"{where}: expected a text, got {type(text).__name__} {str(text)[:40]}")
    check_text(text, where)
    words = text_words(text)
    shown = tuple(text[start:end] for start, end in words)
    if not words:
        raise DataError(f"{where}: expected a text with words, got {text[:40]!r}")
    if spans is None:
        return shown, None
    if not isinstance(spans, list):
        raise DataError(f"{where}: expected a list of spans, got {str(spans)[:40]}")
    tags = ["O"] * len(words)
    for given in spans:
        start, end, label = _inside(_span(given), given, text, where)
        inside = [number for number, (begin, _) in enumerate(words) if start <= begin < end]
        exact = inside and words[inside[0]][0] == start and words[inside[-1]][1] == end
        if not exact:
            raise DataError(
                f"{where}: expected spans that begin and end where words do, got "
                f"{text[start:end][:40]!r} at character {start}; correct its offsets"
            )
        if any(tags[number] != "O" for number in inside):
            raise DataError(
                f"{where}: expected spans that do not overlap, got {text[start:end][:40]!r} "
                f"({label}) over another one; keep one of them"
            )
        for number in inside:
            tags[number] = f"{'B' if number == inside[0] else 'I'}-{label}"
    return shown, tuple(tags)


def _span(given: Any) -> Span | None:
    if isinstance(given, dict):
        start = next((given[name] for name in _STARTS if name in given), None)
        end = next((given[name] for name in _ENDS if name in given), None)
        given = [start, end, given.get("label")]
    if not isinstance(given, list) or [type(part) for part in given] != [int, int, str]:
        return None
    return given[0], given[1], given[2]


def _inside(span: Span | None, given: Any, text: str, where: str) -> Span:
    """The span without white space at its ends, which labelling tools often leave."""
    if span is None or not 0 <= span[0] < span[1] <= len(text) or not span[2].strip():
        raise DataError(
            f"{where}: expected spans as [start, end, label] within the text of {len(text)} "
            f"characters, got {str(given)[:60]}"
        )
    start, end, label = span
    part = text[start:end]
    if not part.strip():
        raise DataError(f"{where}: expected spans of words, got one of white space at {start}")
    start += len(part) - len(part.lstrip())
    return start, start + len(part.strip()), check_outer_space(label, where)
