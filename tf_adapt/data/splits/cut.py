"""Splits a part off a user's train file, to serve as dev or to be held out.

Related examples stay together: equal texts (of pairs either text) and examples of one `group`;
for tagged sentences whole documents, or equal sentences if no documents are marked. The split is a
function of the texts and the seed, independent of the order of the lines.
"""

import hashlib

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits.groups import inseparable
from tf_adapt.errors import DataError

# With fewer, a tenth is too small to select the best epoch.
FEWEST = 50


class SplitError(DataError):
    """The examples are right, but no part of the asked size can be split off."""


def cut_off(examples: list, count: int, seed: int | str, where: str) -> tuple[list, list]:
    """About `count` examples, at most that many, and the others; both in the order of the file.

    Args:
        where: names the examples in messages.

    Raises:
        SplitError: related examples are so many that less than half of `count` can be cut off.
    """
    together = inseparable(examples)
    keys = [digest_of(example, seed) for example in examples]
    first: dict[int, bytes] = {}
    for number, key in zip(together.tolist(), keys, strict=True):
        first[number] = min(key, first.get(number, key))
    sizes = np.bincount(together)
    picked, total = set(), 0
    for number in sorted(first, key=first.__getitem__):
        if total + sizes[number] <= count:
            picked.add(number)
            total += int(sizes[number])
    if 2 * total < count:
        raise SplitError(
            f"{where}: expected {count} of {len(examples)} examples that share no text or group "
            f"with the others, got {total}: {sizes.max()} belong together; give a file of their "
            "own for dev and test"
        )
    numbers = together.tolist()
    cut = [example for example, number in zip(examples, numbers, strict=True) if number in picked]
    kept = [
        example for example, number in zip(examples, numbers, strict=True) if number not in picked
    ]
    return cut, kept


def digest_of(example: Record | TaggedSentence, seed: int | str) -> bytes:
    """A hash of the texts of an example, another with each seed."""
    return hashlib.sha256("\0".join([str(seed), *example.strings]).encode()).digest()
