"""Whether frozen states order encoders as tuning does, beside an order that looks at no state."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.results.adding import HOME
from benchmarks.results.blocks import NOTHING, Contents, as_table, tuned_and_frozen
from benchmarks.results.differences import measures_of
from benchmarks.results.published import beginning
from tf_adapt.report.estimate.measures import MEASURES

STATIC = "tuned scores on the other data sets"


Encoder = tuple[float, dict[str, float]]  # tuned, the best layer of each measure


class Pair(NamedTuple):
    """Two encoders on a data set: the first minus the second, tuned and by the best layer of each
    measure."""

    dataset: str
    encoders: tuple[str, str]
    tuned: float
    measures: dict[str, float]


def ranking_block(contents: Contents, prefix: str) -> str:
    """How many pairs of encoders each measure orders as their tuned scores. With two or three
    encoders a data set a rank correlation says no more."""
    pairs = list(_pairs(beginning(contents, prefix)))
    if not pairs:
        return NOTHING
    rows = [
        [words, _right([(one.measures[name], one.tuned) for one in pairs])]
        for name, words in MEASURES.items()
    ]
    static = [(_on_others(one, pairs), one.tuned) for one in pairs]
    rows.append([STATIC, _right([both for both in static if both[0] is not None])])
    return as_table(["ordered by", "pairs as tuned"], rows)


def _pairs(contents: Contents, home: Path = HOME) -> Iterator[Pair]:
    for (dataset, _), encoders in _by_data(contents, home).items():
        for a, b in combinations(sorted(encoders), 2):
            (tuned_a, best_a), (tuned_b, best_b) = encoders[a], encoders[b]
            differences = {measure: best_a[measure] - best_b[measure] for measure in MEASURES}
            yield Pair(dataset, (a, b), tuned_a - tuned_b, differences)


def _by_data(contents: Contents, home: Path) -> dict[tuple, dict[str, Encoder]]:
    """By data set and number of training examples each encoder that has ❄ and 🔥, of the last
    comparison that has it."""
    found: dict[tuple, dict[str, Encoder]] = defaultdict(dict)
    for name, content in contents.items():
        measures = measures_of(content, home / name)
        if measures is None:
            continue
        for _, _, tuned in tuned_and_frozen({name: content}):
            rows = [row for row in measures["ranking"] if row["module"] == tuned.encoder]
            best = {measure: max(row[measure] for row in rows) for measure in MEASURES}
            of_data = found[content.dataset, content.examples["train"]]
            of_data[tuned.encoder] = (tuned.results.mean, best)
    return found


def _on_others(pair: Pair, pairs: list[Pair]) -> float | None:
    """For how many more of the other data sets the first is ahead; None without other ones."""
    signs = [
        np.sign(one.tuned)
        for one in pairs
        if one.encoders == pair.encoders and one.dataset != pair.dataset
    ]
    return float(sum(signs)) if signs else None


def _right(both: list[tuple[float, float]]) -> str:
    right = sum(guess * found > 0 for guess, found in both)
    return f"{right} of {len(both)}"
