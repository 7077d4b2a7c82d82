"""The numbers of training examples of a comparison: `compare.train_examples`.

`tf_adapt.data.splits.subsampling` draws each part with the seed of its run: the same part for all
cells, a new part for each seed, so that the deviation over seeds includes the sampling of the
examples. Imports no TensorFlow.
"""

from collections.abc import Sequence
from typing import Any

from tf_adapt.config.messages import Problems, shown
from tf_adapt.errors import ConfigError

ALL = "all"
SIZES = f"a list of whole numbers from 1 in ascending order, of which the last may be {ALL}"
KEY = ("compare", "train_examples")
Sizes = tuple[int | None, ...]  # None: all of train


def sizes_of(given: Sequence | None) -> Sizes:
    """The sizes from a checked list; None gives all of train."""
    return (None,) if given is None else tuple(None if size == ALL else size for size in given)


def check_sizes(given: Sequence[Any], data: Any, problems: Problems) -> None:
    """Adds problems with the list (expected: `SIZES`), and with keys of `data` that cut train."""
    for name in ("train_examples", "train_examples_seed", "leave_out"):
        value = data.get(name) if isinstance(data, dict) else None
        if value is not None:
            problems.add(
                ("data", name),
                f"expected null beside {'.'.join(KEY)}, which says what the runs are trained on, "
                f"got {shown(value)}; remove it, or set it to null",
            )
    numbers = given[:-1] if given[-1] == ALL else given
    wrong = [
        size for size in numbers if not isinstance(size, int) or isinstance(size, bool) or size < 1
    ]
    if wrong:
        problems.add(KEY, f"expected {SIZES}, got {shown(wrong[0])} in it")
    elif any(size >= following for size, following in zip(numbers, numbers[1:], strict=False)):
        problems.add(KEY, f"expected {SIZES}, each once, got {', '.join(map(str, given))}")


def known_sizes(sizes: Sizes, available: int) -> list[int]:
    """The sizes as numbers of examples.

    Args:
        available: the number of examples of train.

    Raises:
        ConfigError: a number is larger than train, or `all` equals another number.
    """
    numbers = [available if size is None else size for size in sizes]
    key = ".".join(KEY)
    if max(numbers) > available:
        raise ConfigError(
            f"{key}: expected numbers up to {available:,}, the examples that train has beside "
            f"those that play dev, got {max(numbers):,}; `{ALL}` stands for all of them"
        )
    if len(set(numbers)) < len(numbers):
        raise ConfigError(
            f"{key}: expected each number once, got {available:,} and {ALL}, which are the same "
            "here; remove one of them"
        )
    return numbers
