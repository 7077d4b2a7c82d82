"""CoNLL columns: a word a line, an empty line after a sentence, `-DOCSTART-` before a document.

Comments are `#begin document (…`, `#end document`, and before a sentence lines that are `#` or
begin with `# ` and have another number of columns than the others; with as many, `#` is the word.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tf_adapt.data.formats.records import TaggedSentence, check_outer_space
from tf_adapt.data.formats.text import is_blank, no_examples, read_lines
from tf_adapt.data.stored.sequences import stored
from tf_adapt.errors import DataError

DOCUMENT_START = "-DOCSTART-"
_TAG = re.compile(r"O|[BIESLUM](-.+)?")
# So many sentences are not all of one length.
_ENOUGH_ROWS = 5
# Of CoNLL-2012 and CoNLL-U.
_DOCUMENT_COMMENTS = ("#begin document (", "# newdoc")


def read_conll(
    path: str | Path,
    words: int = 0,
    tags: int = 1,
    num_columns: int | None = None,
    labelled: bool = True,
    memory_mb: float = math.inf,
) -> Sequence[TaggedSentence]:
    """Reads sentences from columns that are separated by one space or by one tab each.

    Most lines decide which, and, without `num_columns`, the number of columns. `-DOCSTART-`,
    `#begin document` or `# newdoc` at the start of a line begins a document. Tags are returned as
    written: `tf_adapt.data.labels.check_scheme` checks the scheme.

    Args:
        path: file in UTF-8.
        words: column of the words, counted from 0.
        tags: column of the tags.
        num_columns: the number of columns every line must have.
        labelled: False reads words only; a file of one column (words) is enough.
        memory_mb: of sentences; more are on disk.

    Raises:
        DataError: not UTF-8 text; a line with a wrong number of columns or an empty one; no
            sentence.
    """
    sentences: list[TaggedSentence] = []
    rows: list[list[str]] = []
    lines = read_lines(path)
    layout = _layout(lines, words, tags, num_columns, labelled)
    first_line = document = 0
    # The empty line at the end closes the last sentence of a file that lacks one.
    for number, line in enumerate([*lines, ""], start=1):
        is_comment = _is_comment(line, layout, before_sentence=not rows)
        starts_document = _starts_document(line, is_comment)
        if not (is_blank(line) or starts_document or is_comment):
            first_line = first_line if rows else number
            rows.append(_split(line, layout, f"{path}:{number}"))
            if labelled:
                check_outer_space(rows[-1][tags], f"{path}:{number}")
            continue
        if rows:
            tag_column = tags if labelled else None
            sentences.append(_sentence(rows, words, tag_column, f"{path}:{first_line}", document))
            rows = []
        if starts_document and sentences:
            document = sentences[-1].document + 1
    if not sentences:
        raise no_examples(path)
    return stored(sentences, memory_mb)


def last_column(path: str | Path) -> int:
    """The number, from 0, of the last column of most lines.

    Raises:
        DataError: not UTF-8 text; only one column; no word.
    """
    most_common = _most_common(read_lines(path))
    if most_common is None:
        raise no_examples(path)
    (_, columns), number = most_common
    if columns == 1:
        raise DataError(
            f"{path}:{number}: expected a word and its tag, separated by a space or a tab, "
            "got 1 column; is this a CoNLL file?"
        )
    return columns - 1


def word_lines(lines: list[str]) -> list[list[str]]:
    """The columns of each line that is a word, whatever their number."""
    layout = _layout(lines, 0, 0, None, labelled=False)
    return [
        line.split(layout[0])
        for line in lines
        if not (is_blank(line) or _starts_document(line, False) or _is_comment(line, layout, True))
    ]


def are_columns(lines: list[str]) -> bool:
    """Whether lines are words with their columns, not one sentence each.

    In columns each line has the same number of them; a few lines of plain text may too.
    """
    rows = word_lines(lines)
    widths = {len(row) for row in rows}
    if len(widths) != 1 or widths == {1}:
        return len(widths) < 2
    starts_document = any(_starts_document(line, False) for line in lines)
    is_tabbed = any("\t" in line for line in lines)
    ends_in_tags = all(_TAG.fullmatch(row[-1]) for row in rows)
    return starts_document or is_tabbed or ends_in_tags or len(rows) >= _ENOUGH_ROWS


def _starts_document(line: str, is_comment: bool) -> bool:
    if is_comment:
        return line.startswith(_DOCUMENT_COMMENTS)
    return line == DOCUMENT_START or line.startswith((DOCUMENT_START + " ", DOCUMENT_START + "\t"))


def _is_comment(line: str, layout: tuple[str, int], before_sentence: bool) -> bool:
    if line == "#end document" or line.startswith("#begin document ("):
        return True
    separator, columns = layout
    is_marked = line == "#" or line.startswith(("# ", "#\t"))
    return before_sentence and is_marked and line.count(separator) + 1 != columns


def _layout(
    lines: list[str], words: int, tags: int, num_columns: int | None, labelled: bool
) -> tuple[str, int]:
    """Separator and number of columns of most lines, of several such the first."""
    (separator, got), _ = _most_common(lines) or ((" ", 1), 0)
    if not labelled and got == 1:
        return separator, words + 1
    needed = max(words, tags) if labelled else words
    return separator, num_columns or max(got, needed + 1)


def _most_common(lines: list[str]) -> tuple[tuple[str, int], int] | None:
    """Separator and number of columns of most lines with a word, and the first such line."""
    counts: Counter = Counter()
    first: dict[tuple[str, int], int] = {}
    for without in (("#",), ()):  # comments may be more than words; every word may be a `#`
        for number, line in enumerate(lines, start=1):
            if is_blank(line) or line.startswith(without) or _starts_document(line, False):
                continue
            separator = "\t" if "\t" in line else " "
            layout = separator, line.count(separator) + 1
            counts[layout] += 1
            first.setdefault(layout, number)
        if counts:
            layout = counts.most_common(1)[0][0]
            return layout, first[layout]
    return None


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
