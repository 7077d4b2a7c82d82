"""The scores of the cells on the slices of the data."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from tf_adapt.report.content import DataSlice
from tf_adapt.runs.slices import Members, Slices, in_words
from tf_adapt.statistics.alpha_spending import level_of
from tf_adapt.statistics.slices import slice_score, with_challenging


def data_slices(
    slices: Slices,
    members: Members,
    metric: str,
    statistics: Mapping[str, np.ndarray],
    groups: np.ndarray,
    analysis: int,
    folds: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> list[DataSlice]:
    """Each slice of the scored split, with the scores of the cells that trained.

    Holm's correction is over all slices and cells, at the level of the interim analysis. A slice
    with a rule `wrong_in` is not tested: errors chose it.

    Args:
        statistics: `item_statistics` by cell, `[seeds, examples, k]`.
        groups: the item of each example.
        folds: of a cross-validation, by cell the fold of each item, `[repeats, items]`.
    """
    scores = [
        slice_score(
            metric, rows, members[name], groups, rules.wrong_in is None, folds=folds.get(cell)
        )
        for name, rules in slices.items()
        for cell, rows in statistics.items()
    ]
    scored = iter(with_challenging(scores, level_of(analysis)))
    return [
        DataSlice(
            name=name,
            rule=in_words(rules),
            examples=int(members[name].sum()),
            errors_of=rules.wrong_in,
            cells={cell: next(scored) for cell in statistics},
        )
        for name, rules in slices.items()
    ]
