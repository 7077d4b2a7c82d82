"""Texts that are there more than once."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tf_adapt.data.stored.digests import digests


def equal_texts(examples: Mapping[str, Sequence]) -> list[list[tuple[str, Any]]]:
    """The examples of each text that several have, each with its split, in their order.

    Args:
        examples: by split.
    """
    names = digests(example.texts for of_split in examples.values() for example in of_split)
    _, group_of, counts = np.unique(names, return_inverse=True, return_counts=True)
    is_repeated = counts[group_of] > 1
    located = ((split, example) for split, of_split in examples.items() for example in of_split)
    groups: dict[int, list[tuple[str, Any]]] = {}
    for group, one in zip(
        group_of[is_repeated].tolist(), itertools.compress(located, is_repeated), strict=True
    ):
        groups.setdefault(group, []).append(one)
    return list(groups.values())
