"""What a practitioner would try before any training of an encoder, scored as the cells are."""

from dataclasses import dataclass

import numpy as np

from tf_adapt.comparison.answers import fold_of_examples
from tf_adapt.comparison.cell_results import CHOSEN_ON, SCORED_ON
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.kinds import KINDS
from tf_adapt.config.data_sections import FoldConfig
from tf_adapt.data.gold_answers import gold_answers
from tf_adapt.data.splits.read_splits import Splits, load_splits
from tf_adapt.data.splits.subsampling import part_of
from tf_adapt.statistics.scores import item_statistics, score_of

# More training examples take minutes and hardly change the score.
MOST_EXAMPLES = 100_000


@dataclass(frozen=True)
class Reference:
    """A simple model, and its answers to the scored examples.

    Attributes:
        answers: `[seeds][examples]`; the seeds differ where each trains on another part of train.
    """

    name: str
    answers: list[list]


def references(outcomes: Outcomes, splits: Splits, metric: str) -> list[Reference]:
    """The simple models of the kind of task, none for span extraction."""
    row = KINDS[splits.kind]
    fitted = [
        Reference(name, _answers(outcomes, splits, metric, name)) for name in row.simple_models
    ]
    seeds = len(outcomes.comparison.seeds)
    return fitted + [
        Reference(name, [values] * seeds)
        for name, values in row.untrained_models(outcomes, SCORED_ON).items()
    ]


def dev_scores(splits: Splits, metric: str) -> list[float]:
    """The scores on dev of the simple models that train, which chose their penalties there."""
    train, names = splits.examples["train"][:MOST_EXAMPLES], KINDS[splits.kind].simple_models
    answers = [fitted_answers(splits, metric, name, train, CHOSEN_ON) for name in names]
    sums = [_statistics(splits, metric, of_model).sum(0) for of_model in answers]
    return [float(score_of(metric, of_model)) for of_model in sums]


def fitted_answers(
    splits: Splits, metric: str, name: str, train: list, split: str = SCORED_ON
) -> list:
    """The answers of a simple model on a split: fitted on `train`, its penalty chosen by the score
    on dev."""
    dev, scored = splits.examples[CHOSEN_ON], splits.examples[split]

    def score(answers: list) -> float:
        sums = _statistics(splits, metric, answers).sum(0)
        return float(score_of(metric, sums))

    return KINDS[splits.kind].simple_models[name](train, dev, scored, score)


def _answers(outcomes: Outcomes, splits: Splits, metric: str, name: str) -> list[list]:
    """The answers of a simple model for each seed, which all have one train, or a part each."""
    train, seeds = splits.examples["train"], outcomes.comparison.seeds
    if outcomes.comparison.folds:
        return [_of_folds(outcomes, splits, metric, name, repeat) for repeat in seeds]
    count = min(outcomes.examples or len(train), MOST_EXAMPLES)
    if count == len(train):
        return [fitted_answers(splits, metric, name, train)] * len(seeds)
    return [fitted_answers(splits, metric, name, part_of(train, count, seed)) for seed in seeds]


def _of_folds(outcomes: Outcomes, splits: Splits, metric: str, name: str, repeat: int) -> list:
    """The answers to all examples, each by a model that is fitted on the other folds."""
    folds, data = outcomes.comparison.folds, outcomes.comparison.data
    fold_of = fold_of_examples(splits, folds, repeat)
    answers = [None] * len(fold_of)
    for number in range(folds):
        fold = {"fold": FoldConfig(of=folds, leave_out=number, seed=repeat)}
        part = load_splits(data.model_copy(update=fold))
        fitted = fitted_answers(part, metric, name, part.examples["train"])
        for place, answer in zip(np.flatnonzero(fold_of == number), fitted, strict=True):
            answers[place] = answer
    return answers


def _statistics(splits: Splits, metric: str, answers: list) -> np.ndarray:
    gold = gold_answers(splits.examples[CHOSEN_ON], splits.kind)
    return item_statistics(metric, answers, gold, splits.labels, splits.scheme)
