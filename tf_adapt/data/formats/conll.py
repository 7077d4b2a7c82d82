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
    """Reads sentences from columns that are separated by one space or by one tab each.

    The line of the first word decides which, and, without `num_columns`, the number of columns. A
    line that starts with `-DOCSTART-` begins a document and is no word. Tags are returned as
    written: `tf_adapt.data.labels.check_scheme` checks the scheme.

    Args:
        path: file in UTF-8.
        words: column of the words, counted from 0.
        tags: column of the tags.
        num_columns: the number of columns every line must have.
        labelled: False reads words only; a file of one column (words) is enough.

    Raises:
        DataError: not UTF-8 text; a line with a wrong number of columns or an empty one; no
            sentence.
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


def last_column(path: str | Path) -> int:
    """The number, from 0, of the last column, by the line of the first word.

    Raises:
        DataError: not UTF-8 text; only one column; no word.
    """
    for number, line in enumerate(read_lines(path), start=1):
        if not is_blank(line) and not _starts_document(line):
            last = line.count("\t" if "\t" in line else " ")
            if last == 0:
                raise DataError(
                    f"{path}:{number}: expected a word and its tag, separated by a space or a tab, "
                    "got 1 column; is this a CoNLL file?"
                )
            return last
    raise no_examples(path)


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
        name = "tab" if separator == "\t" else "space"
        raise DataError(
            f"{where}: expected {expected} columns, got {len(columns)}; "
            f"columns are separated by one {name} each"
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
