"""CoNLL columns: a word a line, an empty line after a sentence, `-DOCSTART-` before a document."""

from pathlib import Path

from tf_adapt.data.formats.records import TaggedSentence
from tf_adapt.data.formats.text import is_blank, no_examples, read_lines
from tf_adapt.errors import DataError

DOCUMENT_START = "-DOCSTART-"


def read_conll(
    path: str | Path,
    words: int = 0,
    tags: int = 1,
    num_columns: int | None = None,
    labelled: bool = True,
) -> list[TaggedSentence]:
    """Reads sentences from columns that are parted by one blank each, or by one tab each.

    The first word's line decides which of the two, and, unless `num_columns` says so, how many
    columns there are. A line that starts with `-DOCSTART-` opens a document and is no word. Tags
    are returned as written: the scheme is checked by `tf_adapt.data.labels.check_scheme`.

    Args:
        path: file in UTF-8.
        words: column of the words, counted from 0.
        tags: column of the tags.
        num_columns: the number of columns every line must have.
        labelled: False reads words only; a file of one column (words) will do.

    Raises:
        DataError: not UTF-8 text; a line with a column too many, too few or empty; no sentence.
    """
    sentences: list[TaggedSentence] = []
    rows: list[list[str]] = []
    layout = None
    first_line = document = 0
    # The empty line at the end closes the last sentence of a file that lacks one.
    for number, line in enumerate([*read_lines(path), ""], start=1):
        starts_document = _starts_document(line)
        if not is_blank(line) and not starts_document:
            where = f"{path}:{number}"
            layout = layout or _layout(line, words, tags, num_columns, labelled)
            first_line = first_line if rows else number
            rows.append(_split(line, layout, where))
            continue
        if rows:
            tag_column = tags if labelled else None
            sentences.append(_sentence(rows, words, tag_column, f"{path}:{first_line}", document))
            rows = []
        if starts_document and sentences:
            document = sentences[-1].document + 1
    if not sentences:
        raise no_examples(path)
    return sentences


def _starts_document(line: str) -> bool:
    return line == DOCUMENT_START or line.startswith((DOCUMENT_START + " ", DOCUMENT_START + "\t"))


def _layout(
    line: str, words: int, tags: int, num_columns: int | None, labelled: bool
) -> tuple[str, int]:
    """Separator and number of columns, from the line of the first word."""
    separator = "\t" if "\t" in line else " "
    got = line.count(separator) + 1
    if not labelled and got == 1:
        return separator, words + 1
    needed = max(words, tags) if labelled else words
    return separator, num_columns or max(got, needed + 1)


def _split(line: str, layout: tuple[str, int], where: str) -> list[str]:
    separator, expected = layout
    columns = line.split(separator)
    if len(columns) != expected:
        name = "tab" if separator == "\t" else "blank"
        raise DataError(
            f"{where}: expected {expected} columns, got {len(columns)}; "
            f"columns are parted by one {name} each"
        )
    if "" in columns:
        raise DataError(
            f"{where}: expected a value in every column, got nothing in column "
            f"{columns.index('') + 1}"
        )
    return columns


def _sentence(
    rows: list[list[str]], words: int, tags: int | None, where: str, document: int
) -> TaggedSentence:
    return TaggedSentence(
        words=tuple(row[words] for row in rows),
        tags=None if tags is None else tuple(row[tags] for row in rows),
        where=where,
        document=document,
    )
