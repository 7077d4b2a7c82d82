"""The baseline of every comparison: a constant prediction, for each kind of task its own."""

from dataclasses import dataclass

import numpy as np

from tf_adapt.comparison.execution.runs import CellRun, Outcomes
from tf_adapt.comparison.kinds import KINDS
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.gold_answers import gold_answers
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.report.scored_cells import AT_BASELINE, DIVERGED, TRAINED
from tf_adapt.statistics.scores import item_statistics, score_of

# Runs compute dev scores in float32.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Baseline:
    """A constant prediction and its scores.

    Attributes:
        answer: a label, a tuple of labels, `O`, a number, or "" for no answer.
        scores: by split; 0 if the metric of a constant prediction is undefined.
        statistics: `item_statistics` of the scored split, `[examples, k]`.
    """

    answer: str | float | tuple[str, ...]
    scores: dict[str, float]
    statistics: np.ndarray


def baseline_of(splits: Splits, metric: str, chosen_on: str, scored_on: str) -> Baseline:
    """The baseline of the data, scored by the runs' metric."""
    answer = KINDS[splits.kind].baseline(splits)
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
    """The outcome of a seed: TRAINED, AT_BASELINE or DIVERGED; None while unfinished.

    A seed fails if it diverges, or if its score on `chosen_on` is not above the baseline's; the
    scored split must not decide which seeds to drop. An untrained encoder at the baseline is a
    result, not a failure.
    """
    if outcomes.failed(run):
        return DIVERGED
    if outcomes.metrics(run) is None:
        return None
    score = outcomes.score(run, chosen_on)
    is_above = score is not None and score > baseline.scores[chosen_on] + ROUNDING
    return TRAINED if is_above or not run.cell.pretrained else AT_BASELINE


def gold_labels(splits: Splits, split: str) -> list:
    """The gold label of each example, in the form of the predictions."""
    return gold_answers(splits.examples[split], splits.kind)


def _as_prediction(example: Record | TaggedSentence, answer: str | float | tuple[str, ...]):
    return [answer] * len(example.words) if isinstance(example, TaggedSentence) else answer
