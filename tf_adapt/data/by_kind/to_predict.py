"""The examples of a file whose labels are to be predicted, one for each row: empty ones too.

Input without a header, one text a line (of pairs two, with a tab between them), is taken where the
file's name does not say that it is a table.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.formats.conll import are_columns
from tf_adapt.data.formats.json_fields import text_field
from tf_adapt.data.formats.table_rows import header_names, table_rows
from tf_adapt.data.formats.tagged_json import read_tagged_json
from tf_adapt.data.formats.text import KnownLines, is_missing
from tf_adapt.data.formats.text_words import split_text
from tf_adapt.data.stored.sequences import stored
from tf_adapt.errors import DataError

_log = logging.getLogger(__name__)
# A file, the section, whether with labels → its examples.
Read = Callable[[Any, Any, bool], list]


def texts_to_predict(path: KnownLines, data: Any, read: Read, texts: int) -> Sequence[Record]:
    """The texts, or pairs, of a file.

    Args:
        path: the file, read.
        data: how it is read: the `data` section of a config.
        read: the reader of files in the section's form.
        texts: of an example.

    Raises:
        DataError: as the reader.
    """
    form = getattr(data, "format", None)
    if form is None:  # a named dataset's own format
        try:
            return read(path, data, False)
        except DataError:
            if _are_plain(path, texts):
                return stored(_plain(path), data.memory_mb)
            raise
    columns = {key: getattr(data.columns, key) for key in ("text_a", "text_b")[:texts]}
    has_names = form == "jsonl" or set(columns.values()) <= set(header_names(path, data))
    if not has_names and _are_plain(path, texts):
        _log.warning(
            "%s: no header with %s: each line is read as %s",
            path,
            " and ".join(map(repr, columns.values())),
            "a text" if texts == 1 else "two texts with a tab between them",
        )
        return stored(_plain(path), data.memory_mb)
    rows = table_rows(path, data, columns)
    return stored((_record(fields, columns, where) for where, fields in rows), data.memory_mb)


def sentences_to_predict(path: KnownLines, data: Any, read: Read) -> Sequence[TaggedSentence]:
    """The sentences of a file: columns, objects of JSON, or lines of plain text."""
    form = getattr(data, "format", "jsonl" if path.looks_like_json else "conll")
    if form == "conll" and not path.named_as_table and not are_columns(path.lines):
        sentences = (
            TaggedSentence(split_text(line), None, f"{path}: line {number}")
            for number, line in enumerate(path.lines, start=1)
        )
        return stored(sentences, data.memory_mb)
    if form == "jsonl":
        fields = text_field(path, getattr(data, "columns", None))
        return read_tagged_json(path, fields, labelled=False, memory_mb=data.memory_mb)
    return read(path, data, False)


def _are_plain(path: KnownLines, texts: int) -> bool:
    return not path.named_as_table and all(
        line.count("\t") == texts - 1 for line in path.lines if line
    )


def _plain(path: KnownLines) -> Iterator[Record]:
    for number, line in enumerate(path.lines, start=1):
        yield Record(*line.split("\t"), where=f"{path}:{number}")


def _record(fields: Mapping[str, Any], columns: Mapping[str, str], where: str) -> Record:
    texts = {}
    for key, name in columns.items():
        value = fields.get(name)
        texts[key] = "" if is_missing(value) else value
        if not isinstance(texts[key], str):
            raise DataError(f"{where}: expected a text in column {name!r}, got {value!r}")
    return Record(**texts, where=where, fields=dict(fields))
