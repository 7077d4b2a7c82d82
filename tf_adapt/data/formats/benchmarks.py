"""The public datasets' own files, as their publishers (or GLUE) wrote them.

Texts are kept exactly, including spaces at their ends (SST-2's phrases all end in one): the
encoders split at white space, so that these change no example. With `labelled=False` every reader
ignores labels; each docstring gives the format of files without labels. Examples beyond `memory_mb`
megabytes are on disk.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tf_adapt.data.formats.conll import read_conll
from tf_adapt.data.formats.records import Record, TaggedSentence, check_text
from tf_adapt.data.formats.tables import named_label, number_label, read_tsv
from tf_adapt.data.formats.text import lines_of, some_lines
from tf_adapt.data.stored.sequences import stored
from tf_adapt.errors import DataError

SICK_LABELS = ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")
MNLI_LABELS = ("entailment", "neutral", "contradiction")
TREC_LABELS = ("DESC", "ENTY", "ABBR", "HUM", "NUM", "LOC")

_sst2_label = named_label({"0": "negative", "1": "positive"})
_mrpc_label = named_label({"0": "not_equivalent", "1": "equivalent"})
_cola_label = named_label({"0": "unacceptable", "1": "acceptable"})
_sick_label = named_label({name: name for name in SICK_LABELS})
_mnli_label = named_label({name: name for name in MNLI_LABELS})
_trec_label = named_label({name: name for name in TREC_LABELS})
_SICK_TEXTS = {"text_a": "sentence_A", "text_b": "sentence_B"}
_TREC_FINE_LABEL = re.compile(f"({'|'.join(TREC_LABELS)}):[a-z]+")


def read_conll2003(
    path: str | Path, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[TaggedSentence]:
    """Token, POS, chunk, NER, separated by spaces; tags as on disk. Unlabelled: token is enough.

    The shared task's own files are in the scheme IOB1.
    """
    return read_conll(path, words=0, tags=3, num_columns=4, labelled=labelled, memory_mb=memory_mb)


def read_sst2(
    path: str | Path, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Record]:
    """Header `sentence label`, labels 0 and 1. Unlabelled: a column `sentence` is enough."""
    return read_tsv(
        path, {"text_a": "sentence", "label": "label"}, _sst2_label, labelled, memory_mb=memory_mb
    )


def read_sick_entailment(
    path: str | Path, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Record]:
    """SICK with its entailment judgment. Unlabelled: `sentence_A` and `sentence_B` are enough."""
    columns = _SICK_TEXTS | {"label": "entailment_judgment"}
    return read_tsv(path, columns, _sick_label, labelled, memory_mb=memory_mb)


def read_sick_relatedness(
    path: str | Path, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Record]:
    """SICK with its relatedness score, 1 to 5. Unlabelled as `read_sick_entailment`."""
    columns = _SICK_TEXTS | {"label": "relatedness_score"}
    return read_tsv(path, columns, number_label, labelled, memory_mb=memory_mb)


def read_mrpc(
    path: str | Path, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Record]:
    """Header `Quality … #1 String #2 String`. Unlabelled: the two strings are enough."""
    columns = {"text_a": "#1 String", "text_b": "#2 String", "label": "Quality"}
    return read_tsv(path, columns, _mrpc_label, labelled, memory_mb=memory_mb)


def read_mnli(
    path: str | Path, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Record]:
    """Header with `genre gold_label sentence1 sentence2`. Unlabelled: without `gold_label`.

    Pairs without a majority (`-` as gold label, in the publisher's development files) are refused
    like any other unknown label: remove them, as the published evaluation does.
    """
    columns = {
        "text_a": "sentence1",
        "text_b": "sentence2",
        "label": "gold_label",
        "genre": "genre",
    }
    return read_tsv(path, columns, _mnli_label, labelled, memory_mb=memory_mb)


def read_stsb(
    path: str | Path, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Record]:
    """Genre, file, year, id, score (0 to 5), two sentences; no header.

    Up to two more columns, notes on the source, are allowed and ignored. Unlabelled: the score is
    ignored and may be empty, or there are only the two sentences.
    """

    def parse(columns: list[str], where: str) -> Record:
        if len(columns) == 2 and not labelled:
            return _record(columns[0], columns[1], where=where)
        _check_count(columns, (7, 8, 9), where)
        label = number_label(columns[4], where) if labelled else None
        return _record(columns[5], columns[6], label, where, genre=columns[0])

    return stored(_rows(path, parse), memory_mb)


def read_cola(
    path: str | Path, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Record]:
    """Source, label (0 or 1), the author's mark (may be empty), sentence; no header.

    Unlabelled: the label is ignored and may be empty, or there is only the sentence.
    """

    def parse(columns: list[str], where: str) -> Record:
        if len(columns) == 1 and not labelled:
            return _record(columns[0], where=where)
        _check_count(columns, (4,), where)
        label = _cola_label(columns[1], where) if labelled else None
        return _record(columns[3], label=label, where=where)

    return stored(_rows(path, parse), memory_mb)


def read_trec(
    path: str | Path, labelled: bool = True, memory_mb: float = math.inf
) -> Sequence[Record]:
    """`COARSE:fine question`, separated by the first space; the label is the coarse class.

    Unlabelled: a label is removed if there is one. The publisher's files are in Latin-1 and must be
    converted to UTF-8 first.
    """

    def parse(columns: list[str], where: str) -> Record:
        line = "\t".join(columns)
        label, _, question = line.partition(" ")
        if not labelled:
            return _record(question if _TREC_FINE_LABEL.fullmatch(label) else line, where=where)
        coarse, colon, _ = label.partition(":")
        if not colon:
            raise DataError(f"{where}: expected `COARSE:fine question`, got {line[:40]!r}")
        return _record(question, label=_trec_label(coarse, where), where=where)

    return stored(_rows(path, parse), memory_mb)


def _rows(path: str | Path, parse: Callable[[list[str], str], Record]) -> Iterator[Record]:
    """Records of a file without a header, one a line, columns separated by tabs."""
    for number, line in enumerate(some_lines(path, lines_of(path)), start=1):
        yield parse(line.split("\t"), f"{path}:{number}")


def _check_count(columns: list[str], allowed: tuple[int, ...], where: str) -> None:
    if len(columns) not in allowed:
        expected = f"{allowed[0]} to {allowed[-1]}" if len(allowed) > 1 else f"{allowed[0]}"
        raise DataError(f"{where}: expected {expected} columns, got {len(columns)}")


def _record(
    text_a: str,
    text_b: str | None = None,
    label: str | float | None = None,
    where: str = "",
    genre: str | None = None,
) -> Record:
    check_text(text_a, where, "sentence" if text_b is None else "sentence 1")
    if text_b is not None:
        check_text(text_b, where, "sentence 2")
    return Record(text_a, text_b, label, where, genre)
