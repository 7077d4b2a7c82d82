"""Folds of a cross-validation: parts of the examples, each scored by a model of the others.

Examples that share a text or a group are in one fold (`groups.inseparable`), and each fold has
about as many examples of each label. The folds are a function of the texts, the labels and the
seed, whatever the order of the lines.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits.cut import FEWEST, SplitError, cut_off
from tf_adapt.data.splits.groups import inseparable
from tf_adapt.data.splits.kinds import KINDS, StrataOf
from tf_adapt.data.splits.strata import Strata, first_digests, strata_of_groups
from tf_adapt.data.stored.sequences import at

HELD_OUT = 0.1  # of the examples that a fold leaves, to choose on


def fold_numbers(
    examples: Sequence[Record | TaggedSentence],
    strata: Strata,
    folds: int,
    seed: int,
    where: str,
) -> np.ndarray:
    """The fold of each example, numbers from 0.

    Groups are dealt one by one, the largest first and equal ones in an order that is random with
    the seed, each to the fold that lacks most of its strata: with `share = count of the stratum in
    the fold / count in all`, the one with the least sum of shares over the strata of the group's
    examples, of equals the one with the fewest examples.

    Shapes: → `[examples] int64`.

    Args:
        strata: of each example, what all folds are to have equally much of, such as its label.
        where: names the examples in messages.

    Raises:
        SplitError: there are too few examples, or too few groups of them.
    """
    groups = inseparable(examples)
    count = int(groups.max(initial=-1)) + 1
    if len(examples) < FEWEST or count < folds:
        raise SplitError(
            f"{where}: expected at least {FEWEST} examples in at least {folds} groups that share "
            f"no text, for {folds} folds, got {len(examples)} in {count}; add examples, or set "
            "compare.folds to 0 and give others as data.dev and data.test"
        )
    contents, totals = strata_of_groups(groups, strata)
    sizes = np.bincount(groups)
    first = first_digests(examples, groups, f"fold {seed}")
    filled, held = np.zeros((folds, len(totals))), np.zeros(folds, np.int64)
    fold_of = np.zeros(count, np.int64)
    for group in sorted(range(count), key=lambda group: (-sizes[group], first[group])):
        numbers, counts = contents[group]
        shares = (filled[:, numbers] / totals[numbers] * counts).sum(1).round(9)
        fold = min(range(folds), key=lambda fold: (shares[fold], held[fold], fold))
        fold_of[group] = fold
        filled[fold, numbers] += counts
        held[fold] += sizes[group]
    return fold_of[groups]


def of_fold(
    examples: list,
    numbers: np.ndarray,
    leave_out: int | None,
    seed: int,
    share: float,
    where: str,
    strata: Callable[[list], Strata | None],
) -> dict[str, list]:
    """The splits of a model: `test`, the fold that is left out; of the others `dev` and `train`.

    Args:
        numbers: `fold_numbers`.
        leave_out: None: no fold, and there is no test.
        share: of the others that plays dev, picked with the seed.
        strata: examples → as in `cut_off`.

    Raises:
        SplitError: as `cut_off`.
    """
    is_left = np.zeros(len(examples), bool) if leave_out is None else numbers == leave_out
    rest = at(examples, np.flatnonzero(~is_left))
    count = max(1, round(share * len(rest)))
    dev, train = cut_off(rest, count, f"dev {seed}", where, strata(rest))
    splits = {"train": train, "dev": dev}
    if leave_out is None:
        return splits
    return splits | {"test": at(examples, np.flatnonzero(is_left))}


def fold_splits(pool: list, described: str, data, name: str) -> tuple[dict, dict]:
    """The splits of the fold of a config's `data` section, and their descriptions."""
    fold = data.fold
    numbers = numbers_of_folds(pool, data.kind, fold.of, fold.seed, name)
    share = HELD_OUT if data.held_out is None else data.held_out
    examples = of_fold(pool, numbers, fold.leave_out, fold.seed, share, name, strata_of(data))
    parts = {
        "train": "",
        "dev": ", which play dev",
        "test": f": fold {fold.leave_out} of {fold.of}",
    }
    return examples, {
        split: f"{described}: {len(some)} of {len(pool)} examples{parts[split]}"
        for split, some in examples.items()
    }


def strata_of(data) -> StrataOf:
    """Of what a part that is cut off train has its share; nothing: not `data.stratified`."""
    return KINDS[data.kind].strata if data.stratified else lambda examples: None


def numbers_of_folds(pool: list, kind: str, folds: int, seed: int, name: str) -> np.ndarray:
    """The fold of each example; see `fold_numbers`."""
    return fold_numbers(pool, KINDS[kind].strata(pool), folds, seed, name)
