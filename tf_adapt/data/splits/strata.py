"""Strata: of what all parts of the data are to have about equally much, such as each label.

A part is a function of the texts, the strata and the seed, whatever the order of the lines.
"""

import hashlib
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence

Strata = Sequence[Sequence[Hashable]]


def strata_of_groups(
    groups: np.ndarray, strata: Strata
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """The strata in each group, as numbers and counts, and how often each is in all examples."""
    names: dict[Hashable, int] = {}
    of_groups: list[list[int]] = [[] for _ in range(int(groups.max(initial=-1)) + 1)]
    for group, of_example in zip(groups.tolist(), strata, strict=True):
        of_groups[group] += [names.setdefault(name, len(names)) for name in of_example]
    contents = [np.unique(np.array(some, np.int64), return_counts=True) for some in of_groups]
    totals = np.zeros(len(names))
    for numbers, counts in contents:
        totals[numbers] += counts
    return contents, totals


def first_digests(
    examples: Sequence[Record | TaggedSentence], groups: np.ndarray, seed: int | str
) -> dict[int, bytes]:
    """The least hash of the texts of each group, another with each seed."""
    first: dict[int, bytes] = {}
    for example, group in zip(examples, groups.tolist(), strict=True):
        digest = hashlib.sha256("\0".join([str(seed), *example.strings]).encode()).digest()
        first[group] = min(digest, first.get(group, digest))
    return first


def evenly_picked(
    groups: np.ndarray, first: Mapping[int, bytes], strata: Strata, count: int
) -> set[int]:
    """Groups that hold at most `count` examples, and of each stratum about its share of them.

    The quota of a stratum with n of N examples is `count · n / N`. Each, the rarest first, gets the
    whole part of its quota; then, a group at a time, the stratum that lacks most, until nothing
    more fits: the method of largest remainders, for examples in several strata in the order of
    Sechidis et al. (2011), https://doi.org/10.1007/978-3-642-23808-6_10. Which groups of a stratum
    come first is random with their digests.
    """
    strata = [of_example or (None,) for of_example in strata]
    contents, totals = strata_of_groups(groups, strata)
    # By their numbers, which follow the order of the lines.
    names = list(dict.fromkeys(name for of_example in strata for name in of_example))
    sizes = np.bincount(groups)
    waiting: list[list[int]] = [[] for _ in totals]
    for group in sorted(first, key=first.__getitem__, reverse=True):
        for stratum in contents[group][0].tolist():
            waiting[stratum].append(group)
    rarest_first = sorted(
        range(len(totals)),
        key=lambda number: (totals[number], first[waiting[number][-1]], repr(names[number])),
    )
    lacking, room, picked = totals * count, count, set()

    def take(stratum: int) -> bool:
        """Picks the stratum's next group that fits, if there is one."""
        nonlocal room
        while waiting[stratum]:
            group = waiting[stratum].pop()
            if group not in picked and sizes[group] <= room:
                picked.add(group)
                room -= int(sizes[group])
                numbers, counts = contents[group]
                lacking[numbers] -= counts * len(groups)
                return True
        return False

    for stratum in rarest_first:
        while lacking[stratum] >= len(groups) and take(stratum):
            pass
    while room and rarest_first:
        neediest = max(rarest_first, key=lacking.__getitem__)
        if not take(neediest):
            rarest_first.remove(neediest)
    return picked
