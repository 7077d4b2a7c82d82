"""The baseline of every comparison: a constant prediction, for each kind of task its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.comparison.kinds import KINDS
from tf_adapt.data.gold_answers import gold_answers
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.report.scored_cells import DIVERGED, ONE_ANSWER, TRAINED
from tf_adapt.statistics.scores import item_statistics, score_of


@dataclass(frozen=True)
class Baseline:
    """A constant prediction and its scores.

    Attributes:
        answer: a label, a tuple of labels, `O`, a number, "" for no answer, or numbers of bytes.
        scores: by split; 0 if the metric of a constant prediction is undefined.
        statistics: `item_statistics` of the scored split, `[examples, k]`.
    """

    answer: str | float | tuple
    scores: dict[str, float]
    statistics: np.ndarray


def baseline_of(splits: Splits, metric: str, chosen_on: str, scored_on: str) -> Baseline:
    """The baseline of the data, scored by the runs' metric."""
    row = KINDS[splits.kind]
    answer = row.baseline(splits)
    statistics = {
        split: item_statistics(
            metric,
            [row.constant(label, answer) for label in gold],
            gold,
            splits.labels,
            splits.scheme,
        )
        for split in (chosen_on, scored_on)
        for gold in [gold_labels(splits, split)]
    }
    scores = {split: float(score_of(metric, rows.sum(0))) for split, rows in statistics.items()}
    return Baseline(answer, scores, statistics[scored_on])


def outcome_of(
    outcomes: Outcomes, run: CellRun, kind: str, predictions: Mapping[Path, list]
) -> str | None:
    """The outcome of a seed: TRAINED, ONE_ANSWER or DIVERGED; None while unfinished.

    A seed fails if it diverges, or gives one answer to everything, a repeat if most of its folds
    do; its score must not decide that, which would leave out bad luck. An untrained encoder with
    one answer is a result, no failure.

    Args:
        predictions: of each finished run, by run folder.
    """
    if outcomes.failed(run):
        return DIVERGED
    if outcomes.metrics(run) is None:
        return None
    if not run.cell.pretrained:
        return TRAINED
    parts = [predictions[part.folder] for part in run.folds or (run,)]
    constant = [len(set(KINDS[kind].answers(answers))) < 2 for answers in parts]
    return ONE_ANSWER if 2 * sum(constant) > len(constant) else TRAINED


def gold_labels(splits: Splits, split: str) -> list:
    """The gold label of each example, in the form of the predictions."""
    return gold_answers(splits.examples[split], splits.kind)
