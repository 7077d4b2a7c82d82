"""Splits a part off a user's train file, to serve as dev or to be held out.

Related examples stay together: equal texts (of pairs either text) and examples of one `group`;
for tagged sentences whole documents, or equal sentences if no documents are marked. The split is a
function of the texts, the strata and the seed, independent of the order of the lines.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tf_adapt.data.splits.groups import inseparable
from tf_adapt.data.splits.strata import Strata, evenly_picked, first_digests
from tf_adapt.data.stored.sequences import at
from tf_adapt.errors import DataError

# With fewer, a tenth is too small to select the best epoch.
FEWEST = 50


class SplitError(DataError):
    """The examples are right, but no part of the asked size can be split off."""


def cut_off(
    examples: Sequence, count: int, seed: int | str, where: str, strata: Strata | None = None
) -> tuple[Sequence, Sequence]:
    """About `count` examples, at most that many, and the others; both in the order of the file.

    Args:
        where: names the examples in messages.
        strata: of each example, what both parts are to have about equally much of, such as its
            label; None: the part is picked by the texts alone.

    Raises:
        SplitError: related examples are so many that less than half of `count` can be cut off.
    """
    together = inseparable(examples)
    first, sizes = first_digests(examples, together, seed), np.bincount(together)
    if strata is None:
        picked = _picked_in_order(first, sizes, count)
    else:
        picked = evenly_picked(together, first, strata, count)
    total = sum(int(sizes[group]) for group in picked)
    if 2 * total < count:
        raise SplitError(
            f"{where}: expected {count} of {len(examples)} examples that share no text or group "
            f"with the others, got {total}: {sizes.max()} belong together; give "
            "a file of their own for dev and test"
        )
    is_cut = np.isin(together, list(picked))
    return at(examples, np.flatnonzero(is_cut)), at(examples, np.flatnonzero(~is_cut))


def _picked_in_order(first: Mapping[int, bytes], sizes: np.ndarray, count: int) -> set[int]:
    picked, total = set(), 0
    for group in sorted(first, key=first.__getitem__):
        if total + sizes[group] <= count:
            picked.add(group)
            total += int(sizes[group])
    return picked
