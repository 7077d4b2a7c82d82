"""The baseline of every comparison: one and the same answer to everything.

Classes: the most frequent label of train. Tags: `O`. Scores: the mean of train's.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from tf_adapt.comparison.runs import CellRun, Outcomes
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits import Splits
from tf_adapt.statistics.scores import item_statistics, score_of

# A run's dev score is a mean in float32.
ROUNDING = 1e-6
TRAINED, AT_BASELINE, DIVERGED = "trained", "at_baseline", "diverged"


@dataclass(frozen=True)
class Baseline:
    """A constant answer and what it scores.

    Attributes:
        answer: a label, `O`, or a number.
        scores: by split; 0 where the metric of a constant answer is undefined.
        statistics: `item_statistics` of the scored split, `[examples, k]`.
    """

    answer: str | float
    scores: dict[str, float]
    statistics: np.ndarray


def baseline_of(splits: Splits, metric: str, chosen_on: str, scored_on: str) -> Baseline:
    """The baseline of a run's data, scored by the metric that judges the runs."""
    answer = _constant(splits)
    statistics = {
        split: item_statistics(
            metric,
            [_as_prediction(example, answer) for example in splits.examples[split]],
            gold_labels(splits, split),
            splits.labels,
            splits.scheme,
        )
        for split in (chosen_on, scored_on)
    }
    scores = {split: float(score_of(metric, rows.sum(0))) for split, rows in statistics.items()}
    return Baseline(answer, scores, statistics[scored_on])


def outcome_of(outcomes: Outcomes, run: CellRun, chosen_on: str, baseline: Baseline) -> str | None:
    """How a seed ended; None before its end.

    A seed fails where it leaves the finite numbers, or where its score on the split that chooses is
    at or below the baseline's: on the scored split nobody may look before deciding to drop it. That
    a network without pretraining learns nothing is no failure, but what it is there to show.
    """
    if outcomes.failed(run):
        return DIVERGED
    if outcomes.metrics(run) is None:
        return None
    score = outcomes.score(run, chosen_on)
    is_above = score is not None and score > baseline.scores[chosen_on] + ROUNDING
    return TRAINED if is_above or not run.cell.pretrained else AT_BASELINE


def gold_labels(splits: Splits, split: str) -> list:
    """The true label of each example, in the form of the predictions."""
    examples = splits.examples[split]
    if splits.kind == "tagging":
        return [list(example.tags) for example in examples]
    if splits.kind == "pair_regression":
        return [float(example.label) for example in examples]
    return [example.label for example in examples]


def _constant(splits: Splits) -> str | float:
    if splits.kind == "tagging":
        return "O"
    labels = gold_labels(splits, "train")
    if splits.kind == "pair_regression":
        return float(np.mean(labels))
    return Counter(labels).most_common(1)[0][0]


def _as_prediction(example: Record | TaggedSentence, answer: str | float):
    return [answer] * len(example.words) if isinstance(example, TaggedSentence) else answer
