"""Splits that hold the same texts: their scores are not those of new ones."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits.shifted import shifted_splits
from tf_adapt.data.stored.digests import digests
from tf_adapt.errors import ConfigError

_log = logging.getLogger(__name__)


def check_distinct(
    examples: Mapping[str, Sequence[Record | TaggedSentence]], scored: str = "test"
) -> None:
    """Checks that no two splits have the same texts, in whatever order.

    Of a shifted split at most half the texts may be in another one; a comparison says how many are
    in train. Dev may be train, which some want for a look at overfitting: a warning is logged.

    Args:
        scored: the split that plays test; with `held_out` it is dev.

    Raises:
        ConfigError: the scored split is one that trains or chooses epochs, or most of a shifted
            split is in another one.
    """
    names = [name for name in ("train", "dev", "test") if name in examples]
    names += shifted_splits(examples)
    contents = cache(lambda split: _contents(examples[split]))
    for other, split in combinations(names, 2):
        if split in shifted_splits(names):
            _check_new(split, contents(split), other, contents(other))
            continue
        if len(examples[split]) != len(examples[other]):
            continue
        if not np.array_equal(contents(split), contents(other)):
            continue
        key, as_key = split.replace("/", "."), other.replace("/", ".")
        what = f"data.{key}: expected other examples than those of data.{as_key}, got the same"
        if split == scored:
            raise ConfigError(
                f"{what}, whose scores say nothing about new examples; leave data.{key} out, or "
                f"give data.{as_key} a file of its own"
            )
        _log.warning("%s: scores and chosen epochs are not those of new examples", what)


def _check_new(split: str, contents: np.ndarray, other: str, others: np.ndarray) -> None:
    known = int(np.isin(contents, others).sum())
    if known > len(contents) / 2:
        key, as_key = split.replace("/", "."), other.replace("/", ".")
        raise ConfigError(
            f"data.{key}: expected other examples than those of data.{as_key}, got {known} of "
            f"{len(contents)} that are among them; give it a file of another domain"
        )


def _contents(examples: Sequence) -> np.ndarray:
    # Without labels: those of train may be votes, or noisy.
    return np.sort(digests(replace(example.without_label(), where="") for example in examples))
