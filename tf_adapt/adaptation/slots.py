"""The slots of an optimizer: which of its variables they are, and how saved ones are matched."""

import logging
import os
from collections.abc import Sequence
from typing import NamedTuple

import keras
import numpy as np

from tf_adapt.adaptation.phases import HEAD

log = logging.getLogger(__name__)


def unscaled(optimizer: keras.optimizers.Optimizer) -> keras.optimizers.Optimizer:
    """The optimizer without the `LossScaleOptimizer` that Keras wraps around it for float16."""
    return getattr(optimizer, "inner_optimizer", optimizer)


def slots_of(optimizer: keras.optimizers.Optimizer) -> list[keras.Variable]:
    """An optimizer's state per weight: moments, averages, step counters of single weights.

    Left out, because restoring weights does not reset them: `iterations`, the learning rate, the
    loss scale; and accumulated gradients.
    """
    optimizer = unscaled(optimizer)
    if hasattr(optimizer, "slots"):
        return optimizer.slots
    sums = getattr(optimizer, "_accumulated_gradients", ())
    others = {id(state) for state in (optimizer._iterations, optimizer._learning_rate, *sums)}
    return [variable for variable in optimizer.variables if id(variable) not in others]


def drop_partial_sums(optimizer: keras.optimizers.Optimizer) -> None:
    """Resets the gradients that an optimizer has accumulated since its last update."""
    optimizer = unscaled(optimizer)
    if hasattr(optimizer, "drop_partial_sums"):
        optimizer.drop_partial_sums()
        return
    for total in getattr(optimizer, "_accumulated_gradients", ()):
        total.assign(keras.ops.zeros_like(total))


class SavedWeight(NamedTuple):
    """One weight in a file: its path, its layer group, and the number of its variables."""

    path: str
    group: str
    count: int


class SavedSlots:
    """The weights that a saved optimizer was built over, to be matched with a model's weights.

    The first components of paths differ between processes and models. Weights of the encoder are
    matched by the path below the encoder's name; those of the head by their order, or by their
    paths if the optimizer is built over a part of the head.

    Args:
        weights: `SavedWeight` fields, in the order of the file.
        known: group → paths of the encoder's weights when the file was saved.

    Attributes:
        waiting: index in the file → weight, of those that are not matched yet.
        values: index in the file → values of the weight's variables, from `read` until they are
            assigned.
        is_read: whether `read` was called.
    """

    def __init__(self, weights: Sequence[Sequence], known: dict[str, list[str]]):
        self.waiting = {number: SavedWeight(*weight) for number, weight in enumerate(weights)}
        self.values: dict[int, list[np.ndarray]] = {}
        self.is_read = False
        self._counts = [weight.count for weight in self.waiting.values()]
        folders = [path.split("/")[:-1] for paths in known.values() for path in paths]
        self._front = len(os.path.commonprefix(folders))

    @property
    def count(self) -> int:
        """Number of variables of all weights in the file."""
        return sum(self._counts)

    def read(self, arrays: Sequence[np.ndarray]) -> None:
        """Sets the values of all weights, in the order of the file."""
        self.is_read = True
        ends = np.cumsum(self._counts)
        self.values = {
            number: list(arrays[end - count : end])
            for number, (end, count) in enumerate(zip(ends, self._counts, strict=True))
        }

    def find(self, paths: Sequence[str], groups: Sequence[str]) -> list[int | None]:
        """Indices in the file of a model's weights, removed from `waiting`; None: not in it."""
        inside = [self._inside(path) for path, g in zip(paths, groups, strict=True) if g != HEAD]
        head = self._of_head([path for path, g in zip(paths, groups, strict=True) if g == HEAD])
        inside, head = iter(inside), iter(head)
        return [next(head if group == HEAD else inside) for group in groups]

    def _inside(self, path: str) -> int | None:
        for number, weight in self.waiting.items():
            end = "/".join(weight.path.split("/")[self._front :])
            if weight.group != HEAD and _ends_with(path, end):
                del self.waiting[number]
                return number
        return None

    def _of_head(self, paths: list[str]) -> list[int | None]:
        saved = {n: weight.path for n, weight in self.waiting.items() if weight.group == HEAD}
        if [_name(path) for path in paths] == [_name(path) for path in saved.values()]:
            numbers = list(saved)
        else:  # a part of the head
            alike = [
                [n for n, other in saved.items() if _ends_alike(path, other)] for path in paths
            ]
            numbers = [matches[0] if len(matches) == 1 else None for matches in alike]
            lost = [path for path, n in zip(paths, numbers, strict=True) if saved and n is None]
            if lost:
                log.warning(
                    "optimizer: expected slots of %s in the file, got those of %s; these weights "
                    "begin as with a new optimizer",
                    ", ".join(lost),
                    ", ".join(saved.values()),
                )
        for number in numbers:
            self.waiting.pop(number, None)
        return numbers


def _name(path: str) -> str:
    return path.split("/")[-1]


def _ends_with(path: str, end: str) -> bool:
    return f"/{path}".endswith(f"/{end}")


def _ends_alike(path: str, other: str) -> bool:
    return _ends_with(path, other) or _ends_with(other, path)
