"""Test items, and runs of cells on them whose expected scores are known."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

# What a run of a cell scores in expectation where nothing else is said.
TYPICAL = {"accuracy": 0.80, "matthews": 0.50, "pearson": 0.80, "span_f1": 0.80}
# Of Matthews' labels; its second label is harder.
POSITIVE, HARDER = 0.3, 1.0
# Entities of a sentence, in the mean; the share of the missed that are found at a wrong place; what
# is found where nothing is.
ENTITIES, MISPLACED, SPURIOUS = 1.6, 0.5, 0.15
SPREADS = {"shared": 2.5, "own": 1.0, "noise": 1.0}


@dataclass(frozen=True)
class Items:
    """What a test set is like.

    An item's difficulty is a sum of normal effects: one that all cells share (deviation 2.5), one
    of the cell's own (`own`) and one of the run (`noise`). With the defaults two runs of a cell
    disagree on one item in nine.

    Attributes:
        groups: `[items]`: which group an item is of; ids from 0.
        within: the share of each effect's variance that is its group's.
        majority: the share of the most frequent label, in expectation (accuracy).
    """

    groups: np.ndarray
    within: float = 0.0
    own: float = SPREADS["own"]
    noise: float = SPREADS["noise"]
    majority: float = 0.5


def alone(count: int, **settings) -> Items:
    """Items without groups."""
    return Items(np.arange(count), **settings)


def scores_of_runs(random, metric: str, seeds: int, deviations, gains=0.0) -> np.ndarray:
    """Expected scores of runs: a cell's own, with a normal effect of the seed.

    Shapes: deviations `[cells]`, gains `[cells]` or one for all, both in points → `[cells, seeds]`.
    """
    deviations = np.asarray(deviations, np.float64)[:, None]
    gains = np.broadcast_to(gains, len(deviations))[:, None]
    effects = deviations * random.standard_normal((len(deviations), seeds))
    return TYPICAL[metric] + (gains + effects) / 100


class TestSet:
    """Items drawn by chance; every run is scored on the same ones."""

    __test__ = False  # pytest takes it for a test

    def __init__(self, random, metric: str, items: Items, cells: int):
        self.random, self.metric, self.items = random, metric, items
        shared = SPREADS["shared"] * self._effects()
        self._cells = shared + items.own * self._effects(cells, 1)
        self._total = np.sqrt(SPREADS["shared"] ** 2 + items.own**2 + items.noise**2)
        count = len(items.groups)
        if metric == "accuracy":
            self._frequent = random.random(count) < items.majority
        elif metric == "matthews":
            self._positive = random.random(count) < POSITIVE
        elif metric == "pearson":
            self._gold = ndtr(self._effects()) - 0.5  # uniform
        else:
            self._entities = random.poisson(ENTITIES, count)

    def runs(self, scores: np.ndarray) -> np.ndarray:
        """`item_statistics` of runs with these expected scores.

        Shapes: scores `[cells, seeds]` → `[cells, seeds, items, k]`.
        """
        scores = scores[..., None]
        if self.metric == "pearson":
            return self._correlated(np.clip(scores, -0.98, 0.98))
        if self.metric == "span_f1":
            return self._found(scores)
        if self.metric == "accuracy":
            right = self._latents(scores.shape) + self._shift(scores) > 0
            return _stacked([right, 1.0])
        shift = self._total * np.interp(scores, *_matthews_curve(HARDER / self._total))
        right = self._latents(scores.shape) + shift - HARDER * self._positive > 0
        return self._labelled(right)

    def constant(self) -> np.ndarray:
        """`item_statistics` of the baseline: one answer to everything, `[items, k]`."""
        count = len(self.items.groups)
        if self.metric == "accuracy":
            return _stacked([self._frequent, 1.0])
        if self.metric == "matthews":
            return self._labelled(~self._positive)
        if self.metric == "span_f1":
            return _stacked([np.zeros(count), self._entities, 0.0])
        x = self._gold - self._gold.mean()
        return _stacked([np.ones(count), x, 0.0, x * x, 0.0, 0.0])

    def _effects(self, *shape: int) -> np.ndarray:
        """Standard normal, `[*shape, items]`, correlated within the groups."""
        groups, within = self.items.groups, self.items.within
        effects = self.random.standard_normal((*shape, len(groups)))
        if not within:
            return effects
        of_groups = self.random.standard_normal((*shape, groups.max() + 1))
        return np.sqrt(within) * of_groups[..., groups] + np.sqrt(1 - within) * effects

    def _latents(self, shape) -> np.ndarray:
        return self._cells + self.items.noise * self._effects(*shape[:2])

    def _shift(self, shares: np.ndarray) -> np.ndarray:
        """What makes the share of latents above 0 the one given."""
        return self._total * ndtri(np.clip(shares, 0.01, 0.99))

    def _labelled(self, right: np.ndarray) -> np.ndarray:
        predicted = self._positive == right
        return _stacked([right, ~self._positive, self._positive, ~predicted, predicted])

    def _correlated(self, scores: np.ndarray) -> np.ndarray:
        """Predictions of which the correlation with gold is the score; some items are harder."""
        x = self._gold - self._gold.mean()
        harder = np.sqrt(self.random.gamma(2, 0.5, len(x)))  # mean square 1
        noise = self._cells + self.items.noise * harder * self._effects(*scores.shape[:2])
        y = scores * np.sqrt(12) * self._gold + np.sqrt(1 - scores**2) * noise / self._total
        y -= y.mean(-1, keepdims=True)
        return _stacked([1.0, x, y, x * x, y * y, x * y])

    def _found(self, scores: np.ndarray) -> np.ndarray:
        """Entities right, true and predicted: `score = 2·right / (true + predicted)` in expectation
        solved for the share that is right."""
        empty = ENTITIES * (1 + MISPLACED) + SPURIOUS
        shares = scores * empty / (ENTITIES * (2 - scores * (1 - MISPLACED)))
        # The run's effect is the sentence's as far as it is the group's, and else the entity's.
        within, noise = self.items.within, self.items.noise
        level = self._cells + self._shift(shares)
        if within:
            of_groups = self.random.standard_normal(
                (*scores.shape[:2], self.items.groups.max() + 1)
            )
            level = level + noise * np.sqrt(within) * of_groups[..., self.items.groups]
        chances = ndtr(level / (noise * np.sqrt(1 - within)))
        right = self.random.binomial(self._entities, chances)
        wrong = self.random.binomial(self._entities - right, MISPLACED)
        wrong += self.random.poisson(SPURIOUS, wrong.shape)
        return _stacked([right, self._entities, right + wrong])


def _matthews_curve(harder: float) -> tuple[np.ndarray, np.ndarray]:
    """Matthews' coefficient of many items, and the shift, in deviations of the latents."""
    shift = np.linspace(-3, 5, 2001)
    negative, positive = ndtr(shift), ndtr(shift - harder)
    predicted = POSITIVE * positive + (1 - POSITIVE) * (1 - negative)
    spread = POSITIVE * (1 - POSITIVE) / (predicted * (1 - predicted))
    return (negative + positive - 1) * np.sqrt(spread), shift


def _stacked(parts) -> np.ndarray:
    """`[…, items, k]` of parts that broadcast."""
    shape = np.broadcast_shapes(*(np.shape(part) for part in parts))
    statistics = np.empty((*shape, len(parts)))
    for number, part in enumerate(parts):
        statistics[..., number] = part
    return statistics
