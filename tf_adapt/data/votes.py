"""Weak supervision: the labels of several noisy sources, and the labels of train from them.

The file is a table with a header: a column for each source, named by it, and a row for each example
of train, in the order of train. A cell is the label that a source gives, or empty where it
abstains. Columns are separated by tabs; in a file that ends in `.csv` by commas, with quotes as in
RFC 4180.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tf_adapt.data.formats import Record
from tf_adapt.data.formats.tables import check_columns, delimited_rows, tab_rows, text_label
from tf_adapt.data.formats.text import is_blank, no_examples, read_lines
from tf_adapt.errors import DataError
from tf_adapt.statistics.dawid_skene import dawid_skene
from tf_adapt.statistics.votes import (
    ABSTAINED,
    FEWEST_SOURCES,
    agreement,
    entropies,
    estimated_accuracies,
    majority,
)

DAWID_SKENE, MAJORITY = AGGREGATES = ("dawid_skene", "majority")
_DIGITS = 6


@dataclass(frozen=True)
class Votes:
    """The content of a file of votes.

    Attributes:
        ids: `[examples, sources] int`: ids of labels, −1 where a source abstained.
        last_line: number of the line with the last example.
    """

    path: str
    sources: list[str]
    labels: list[str]
    ids: np.ndarray
    last_line: int


@dataclass(frozen=True)
class WeakLabels:
    """The labels that the votes give the examples of train, as plain values.

    Attributes:
        posteriors: the probability of each label, by example.
        facts: as in `metrics.json` (`run_schemas.Weak`).
    """

    posteriors: list[list[float]]
    facts: dict[str, Any]


def read_votes(path: str | Path, labels: Sequence[str] | None = None) -> Votes:
    """Reads a file of votes.

    Args:
        labels: those of the task; None: those that the sources give, in sorted order.

    Raises:
        DataError: the file cannot be read; it names fewer than two sources, or one twice; a row has
            another number of columns, no vote, or a label that is unknown.
    """
    lines = read_lines(path)
    if all(map(is_blank, lines[1:])):
        raise no_examples(path)
    is_csv = Path(path).suffix.lower() == ".csv"
    split = functools.partial(delimited_rows, ",") if is_csv else tab_rows
    rows = split(path, lines)
    sources = _checked_sources(next(rows)[1], f"{path}:1")
    numbered = [(number, _checked_row(row, sources, f"{path}:{number}")) for number, row in rows]
    if labels is None:
        labels = sorted({cell for _, row in numbered for cell in row} - {""})
    known = {"": ABSTAINED} | {label: number for number, label in enumerate(labels)}
    for number, row in numbered:
        for source, cell in zip(sources, row, strict=True):
            if cell not in known:
                raise DataError(
                    f"{path}:{number}: expected of source {source!r} a label of the task "
                    f"({', '.join(labels)}), or nothing where it abstains, got {cell!r}"
                )
    ids = np.array([[known[cell] for cell in row] for _, row in numbered])
    return Votes(str(path), sources, list(labels), ids, numbered[-1][0])


def weak_labels(votes: Votes, rows: Sequence[int], aggregate: str) -> WeakLabels:
    """The labels of the examples in some rows of the file, from the votes for these alone.

    Args:
        aggregate: one of `AGGREGATES`.
    """
    ids, count = votes.ids[list(rows)], len(votes.labels)
    if aggregate == MAJORITY:
        posteriors = majority(ids, count)
    else:
        posteriors = dawid_skene(ids, count).posteriors
    given = (ids != ABSTAINED).sum(axis=0)
    accuracies = estimated_accuracies(ids, posteriors)
    agreeing = agreement(ids, count)
    facts = {
        "votes_file": votes.path,
        "aggregate": aggregate,
        "examples": len(ids),
        "votes": int(given.sum()),
        "agreement": None if agreeing is None else round(agreeing, _DIGITS),
        "sources": {
            name: {
                "votes": int(voted),
                "accuracy": round(float(accuracy), _DIGITS) if voted else None,
            }
            for name, voted, accuracy in zip(votes.sources, given, accuracies, strict=True)
        },
        "entropy": round(float(entropies(posteriors).mean()), _DIGITS),
        "undecided": round(float((posteriors.max(axis=1) <= 0.5).mean()), _DIGITS),
    }
    return WeakLabels(posteriors.tolist(), facts)


def check_rows(votes: Votes, examples: int, train: str) -> None:
    """Checks that the file has a row for each example of train.

    Args:
        train: its description.

    Raises:
        DataError: it has more or fewer.
    """
    if len(votes.ids) != examples:
        raise DataError(
            f"{votes.path}:{votes.last_line}: expected {examples} rows below the header, one for "
            f"each example of {train} (before train_examples), in the same order, got "
            f"{len(votes.ids)}; a row without a vote is not left out: leave out the example too"
        )


def with_probable_labels(
    examples: Sequence[Record], posteriors: list[list[float]], labels: Sequence[str]
) -> list[Record]:
    """The examples, each with its most probable label (the first of equals)."""
    return [
        replace(example, label=labels[int(np.argmax(row))])
        for example, row in zip(examples, posteriors, strict=True)
    ]


def _checked_sources(header: list[str], where: str) -> list[str]:
    if len(header) < FEWEST_SOURCES:
        raise DataError(
            f"{where}: expected the names of at least {FEWEST_SOURCES} sources, a column each, got "
            f"{', '.join(map(repr, header)) or 'none'}; separate columns by tabs, in a .csv file "
            "by commas"
        )
    for position, name in enumerate(header):
        if not name.strip() or name in header[:position]:
            what = "two of that name" if name.strip() else "an empty one"
            raise DataError(
                f"{where}: expected a name of its own for each source, got {what} in column "
                f"{position + 1} ({name!r})"
            )
    return header


def _checked_row(row: list[str], sources: list[str], where: str) -> list[str]:
    check_columns(row, len(sources), where)
    if not any(row):
        raise DataError(
            f"{where}: expected the label of at least one source, got none; leave the example out "
            "of train and of this file"
        )
    return ["" if cell == "" else text_label(cell, where) for cell in row]
