"""What a practitioner would try before any training of an encoder, scored as the cells are."""

from collections.abc import Sequence

import numpy as np

from tf_adapt.comparison.answers import fold_of_examples
from tf_adapt.comparison.baselines.similarity import ALL
from tf_adapt.comparison.cell_results import CHOSEN_ON, SCORED_ON
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.kinds import KINDS
from tf_adapt.config.data_sections import FoldConfig
from tf_adapt.data.gold_answers import gold_answers
from tf_adapt.data.splits.read_splits import Splits, load_splits
from tf_adapt.data.splits.shifted import shifted_splits
from tf_adapt.data.splits.subsampling import part_of
from tf_adapt.statistics.scores import item_statistics, score_of

# More training examples take minutes and hardly change the score.
MOST_EXAMPLES = 100_000


def references(outcomes: Outcomes, splits: Splits, metric: str) -> dict[str, dict[str, list[list]]]:
    """By scored split and simple model of the kind of task its answers with each training,
    `[trainings][examples]`: of the seeds, which differ where each trains on another part of train;
    of folds in another domain each.

    Splits are the one at home and those of other domains; span extraction has no simple models.
    """
    row, comparison = KINDS[splits.kind], outcomes.comparison
    names = [SCORED_ON, *shifted_splits(splits.examples)]
    found: dict[str, dict[str, list[list]]] = {split: {} for split in names}
    for model in row.simple_models:
        fitted = _of_trainings(outcomes, splits, metric, model, names)
        for split, answers in fitted.items():
            found[split][model] = answers
    folds, seeds = comparison.folds, len(comparison.seeds)
    for split in names:
        all_folds = folds and split == SCORED_ON
        trainings = seeds if all_folds else seeds * (folds or 1)
        for model, values in row.untrained_models(outcomes, ALL if all_folds else split).items():
            found[split][model] = [values] * trainings
    return found


def dev_scores(splits: Splits, metric: str) -> list[float]:
    """The scores on dev of the simple models that train, which chose their penalties there."""
    train, models = splits.examples["train"][:MOST_EXAMPLES], KINDS[splits.kind].simple_models
    answers = [fitted_answers(splits, metric, one, train, CHOSEN_ON) for one in models]
    sums = [_statistics(splits, metric, of_model).sum(0) for of_model in answers]
    return [float(score_of(metric, of_model)) for of_model in sums]


def fitted_answers(
    splits: Splits, metric: str, model: str, train: list, split: str = SCORED_ON
) -> list:
    """The answers of a simple model on a split: fitted on `train`, its penalty chosen by the score
    on dev."""
    dev, scored = splits.examples[CHOSEN_ON], splits.examples[split]

    def score(answers: list) -> float:
        sums = _statistics(splits, metric, answers).sum(0)
        return float(score_of(metric, sums))

    return KINDS[splits.kind].simple_models[model](train, dev, scored, score)


def _of_trainings(
    outcomes: Outcomes, splits: Splits, metric: str, model: str, names: Sequence[str]
) -> dict[str, list[list]]:
    """The answers of a simple model for each seed, which all have one train, or a part each."""
    train, seeds = splits.examples["train"], outcomes.comparison.seeds
    if outcomes.comparison.folds:
        return _of_folds(outcomes, splits, metric, model, names)
    count = min(outcomes.examples or len(train), MOST_EXAMPLES)
    if count == len(train):
        return {
            split: [fitted_answers(splits, metric, model, train, split)] * len(seeds)
            for split in names
        }
    parts = [part_of(train, count, seed) for seed in seeds]
    return {
        split: [fitted_answers(splits, metric, model, part, split) for part in parts]
        for split in names
    }


def _of_folds(
    outcomes: Outcomes, splits: Splits, metric: str, model: str, names: Sequence[str]
) -> dict[str, list[list]]:
    """At home the answers of each repeat to all examples, each by a model that is fitted on the
    other folds; in another domain those of the model of each fold."""
    folds, data = outcomes.comparison.folds, outcomes.comparison.data
    found: dict[str, list[list]] = {split: [] for split in names}
    for repeat in outcomes.comparison.seeds:
        fold_of = fold_of_examples(splits, folds, repeat)
        at_home = [None] * len(fold_of)
        for number in range(folds):
            fold = {"fold": FoldConfig(of=folds, leave_out=number, seed=repeat)}
            part = load_splits(data.model_copy(update=fold))
            train = part.examples["train"]
            fitted = {split: fitted_answers(part, metric, model, train, split) for split in names}
            places = np.flatnonzero(fold_of == number)
            for place, answer in zip(places, fitted[SCORED_ON], strict=True):
                at_home[place] = answer
            for split in names[1:]:
                found[split].append(fitted[split])
        found[SCORED_ON].append(at_home)
    return found


def _statistics(splits: Splits, metric: str, answers: list) -> np.ndarray:
    gold = gold_answers(splits.examples[CHOSEN_ON], splits.kind)
    return item_statistics(metric, answers, gold, splits.labels, splits.scheme)
