"""Which cells and learning rates a screening keeps: successive halving. Pure functions.

Each rung trains what is still in with more epochs and examples than the one before; the better half
of the cells goes on. Imports no TensorFlow.

Source: Jamieson and Talwalkar 2016, "Non-stochastic best arm identification and hyperparameter
optimization".
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tf_adapt.paper import FROZEN, TUNED


@dataclass(frozen=True)
class Rung:
    """The shares of a cell's epochs, and of the training examples."""

    epochs: float
    examples: float


RUNGS = (Rung(1 / 3, 1 / 3), Rung(2 / 3, 2 / 3))
# The best cell of each group is never dropped: ❄, 🔥, and all others.
OTHERS = "others"
FEWEST_CELLS, FEWEST_RATES = 3, 2
# Scored where there is time: the best is among so many more often (`benchmarks.budget`).
WANTED_CELLS, WANTED_SHARE = 4, 1 / 4

Rates = Mapping[str, Sequence[float]]
# By cell and learning rate, on dev; None: it diverged, or is undefined. What has not ended is left
# out.
Scores = Mapping[str, Mapping[float, float | None]]
Groups = Mapping[str, str]


def group_of(adaptation: str, pretrained: bool) -> str:
    """`FROZEN`, `TUNED` or `OTHERS`."""
    return adaptation if pretrained and adaptation in (FROZEN, TUNED) else OTHERS


def wanted(cells: int) -> int:
    """How many of so many cells are scored where there is time."""
    return min(cells, max(WANTED_CELLS, math.ceil(WANTED_SHARE * cells)))


def needs_rung(rates: Rates, enough: int) -> bool:
    """Whether there are more than enough cells, or rates to choose between."""
    return len(rates) > enough or any(len(of_cell) > 1 for of_cell in rates.values())


def kept(tried: Rates, scores: Sequence[Scores], groups: Groups) -> dict[str, tuple[float, ...]]:
    """The cells and rates that go on: half of the cells, those of `guaranteed` among them, each
    with half of its rates, of which two at least.

    Args:
        tried: what was in the last rung, in the order of the config.
        scores: of each rung so far.
    """
    order = ranked(tried, scores)
    going = in_front(order, groups, max(wanted(len(order)), math.ceil(len(order) / 2)))
    found = {}
    for name in filter(going.__contains__, tried):
        rates = ranked_rates(name, tried, scores)
        best = rates[: max(FEWEST_RATES, math.ceil(len(rates) / 2))]
        found[name] = tuple(rate for rate in tried[name] if rate in best)
    return found


def finalists(
    tried: Rates, scores: Sequence[Scores], groups: Groups, count: int
) -> dict[str, float]:
    """The cells that are scored, each with its best rate, in the order of the config.

    Args: as `kept`; count: how many, if there are so many.
    """
    going = in_front(ranked(tried, scores), groups, count)
    return {name: ranked_rates(name, tried, scores)[0] for name in tried if name in going}


def in_front(order: Sequence[str], groups: Groups, count: int) -> list[str]:
    """The first cells, those of `guaranteed` among them."""
    first = guaranteed(order, groups)
    return [*first, *(name for name in order if name not in first)][:count]


def guaranteed(order: Sequence[str], groups: Groups) -> dict[str, str]:
    """By name of the best cell of ❄, of 🔥 and of the others their group; without others the best
    that is left stands for them."""
    best = {groups[name]: name for name in reversed(order)}
    found = {best[group]: group for group in (FROZEN, TUNED, OTHERS) if group in best}
    left = [name for name in order if name not in found]
    return found if OTHERS in best else found | dict.fromkeys(left[:1], OTHERS)


def ranked(tried: Rates, scores: Sequence[Scores]) -> list[str]:
    """The cells, best first; of equals the first of the config. One that came further is ahead."""
    places = {name: _place(scores, name, tried[name]) for name in tried}
    return sorted(tried, key=places.get, reverse=True)


def ranked_rates(name: str, tried: Rates, scores: Sequence[Scores]) -> list[float]:
    """The learning rates of a cell, best first; of equals the first."""
    places = {rate: _place(scores, name, [rate]) for rate in tried[name]}
    return sorted(tried[name], key=places.get, reverse=True)


def _place(scores: Sequence[Scores], name: str, rates: Sequence[float]) -> tuple[int, float]:
    """The last rung that ended, and the best score in it."""
    for number in reversed(range(len(scores))):
        ended = [scores[number][name][r] for r in rates if r in scores[number].get(name, {})]
        if ended:
            return number, max(-math.inf if score is None else score for score in ended)
    return -1, -math.inf
