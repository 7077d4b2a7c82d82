"""Cells on test items of another domain: the same test, and whether what they lose differs."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from tf_adapt.statistics.pairs import Tested, judged, obstacle, widest_difference
from tf_adapt.statistics.relation import FEWEST_REPEATS, FEWEST_SEEDS, PairTest
from tf_adapt.statistics.scores import pseudo_values, score_of, sums_of
from tf_adapt.statistics.two_cells import CellSample, sample_of, sample_of_values

Rows = Mapping[str, np.ndarray]  # by cell


def compare_abroad(
    metric: str, domains: Mapping[str, Rows], analysis: int, folds: int | None = None
) -> dict[str, list[PairTest]]:
    """`compare_pairs` on the items of each domain, with Holm's correction over all of them.

    Args:
        domains: by domain and cell `item_statistics`, `[trainings, items, k]`: of each seed, with
            folds of each fold of each repeat, whose models all answer every item.
        folds: the trainings of a repeat. Their training sets overlap: of the variance of a training
            `1 / (folds − 1)` remains with any number of repeats, as in `two_cells`.
    """
    samples = {
        domain: {name: _abroad(metric, rows, folds) for name, rows in cells.items()}
        for domain, cells in domains.items()
    }
    tested = {
        (domain, a, b): Tested(
            a, b, samples[domain][a], samples[domain][b], obstacle(cells[a], cells[b], FEWEST_SEEDS)
        )
        for domain, cells in domains.items()
        for a, b in combinations(cells, 2)
    }
    return _by_domain(tested, widest_difference(metric), domains, analysis)


def compare_gaps(
    metric: str,
    home: Rows,
    domains: Mapping[str, Rows],
    analysis: int,
    folds: int | None = None,
    home_folds: Rows | None = None,
) -> dict[str, list[PairTest]]:
    """For each domain and pair of cells the difference of their differences, `(a − b there) −
    (a − b at home)`, with Holm's correction over all of them.

    It is the difference of two cells whose score is what a training gains by the move (mostly less
    than nothing), and so tested as two cells are (`compare_cells`). A seed's scores at home and
    there are of one training, whose gain varies less than their sum; the items of the two test
    sets are independent. With `y` an item's pseudo-value, `N` the number of all items, an item
    there counts as `y·N/n_there`, one at home as `−y·N/n_home`, both less the mean of their set.

    Args:
        home: `item_statistics` of the test at home, `[seeds, items, k]`; with folds of repeats.
        domains, folds: as in `compare_abroad`.
        home_folds: with folds, as `folds` in `compare_pairs`. The variances at home and there are
            then added, as if they were of different trainings.
    """
    fewest = FEWEST_REPEATS if folds else FEWEST_SEEDS
    tested = {}
    for domain, cells in domains.items():
        gaps = {
            name: _gap(metric, home[name], rows, folds, home_folds and home_folds[name])
            for name, rows in cells.items()
        }
        for a, b in combinations(gaps, 2):
            there = obstacle(cells[a], cells[b], fewest)
            here = obstacle(home[a], home[b], fewest)
            both = {there, here}
            # Equal answers at home alone leave a difference to test.
            reason = (
                there if both == {"identical"} else next(iter(both - {None, "identical"}), None)
            )
            tested[domain, a, b] = Tested(a, b, gaps[a], gaps[b], reason)
    return _by_domain(tested, 2 * widest_difference(metric), domains, analysis)


def _by_domain(tested: dict, widest: float, domains, analysis: int) -> dict[str, list[PairTest]]:
    found = dict(zip(tested, judged(list(tested.values()), widest, analysis), strict=True))
    return {
        domain: [pair for (where, _, _), pair in found.items() if where == domain]
        for domain in domains
    }


def _abroad(metric: str, rows: np.ndarray, folds: int | None) -> CellSample:
    sample = sample_of(metric, rows)
    if not folds:
        return sample
    training = max(0.0, sample.seed_variance - sample.residual / rows.shape[1])
    return replace(sample, shared=training / (folds - 1))


def _gap(
    metric: str, home: np.ndarray, rows: np.ndarray, folds: int | None, home_folds
) -> CellSample:
    """What the trainings of a cell gain by the move, as a sample."""
    of_seeds = rows.reshape(len(home), -1, *rows.shape[1:])  # the trainings of each repeat
    there = score_of(metric, sums_of(of_seeds)).mean(axis=1)
    values = pseudo_values(metric, of_seeds).mean(axis=1)
    scores = there - score_of(metric, sums_of(home))
    sides = (values, 1), (pseudo_values(metric, home), -1)
    total = sum(side.shape[1] for side, _ in sides)
    both = np.concatenate(
        [
            sign * (side - side.mean(1, keepdims=True)) * total / side.shape[1]
            for side, sign in sides
        ],
        axis=1,
    )
    sample = sample_of_values(scores, both)
    if not folds:
        return sample
    parts = sample_of(metric, home, home_folds), _abroad(metric, rows, folds)
    # Of the mean of a repeat's trainings.
    variance = parts[0].seed_variance + parts[1].seed_variance / folds
    shared = parts[0].shared + parts[1].shared
    return replace(sample, seed_variance=variance, shared=shared, folds=folds)
