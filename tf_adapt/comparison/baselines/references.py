"""What a practitioner would try before any training of an encoder, scored as the cells are."""

import functools
from collections.abc import Sequence

import numpy as np

from tf_adapt.comparison.answers import fold_of_examples
from tf_adapt.comparison.baselines.bag_of_words import Answers
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
    train, dev = splits.examples["train"][:MOST_EXAMPLES], splits.examples[CHOSEN_ON]
    fitted = [fit(splits, metric, one, train) for one in KINDS[splits.kind].simple_models]
    return [_dev_score(splits, metric, answers(dev)) for answers in fitted]


def fit(splits: Splits, metric: str, model: str, train: list) -> Answers:
    """A simple model, fitted on `train`, its penalty chosen by the score on dev."""
    score = functools.partial(_dev_score, splits, metric)
    return KINDS[splits.kind].simple_models[model](train, splits.examples[CHOSEN_ON], score)


def _of_trainings(
    outcomes: Outcomes, splits: Splits, metric: str, model: str, names: Sequence[str]
) -> dict[str, list[list]]:
    """The answers of a simple model for each seed, which all have one train, or a part each."""
    train, seeds = splits.examples["train"], outcomes.comparison.seeds
    if outcomes.comparison.folds:
        return _of_folds(outcomes, splits, metric, model, names)
    count = min(outcomes.examples or len(train), MOST_EXAMPLES)
    is_whole = count == len(train)
    parts = [train] if is_whole else [part_of(train, count, seed) for seed in seeds]
    fitted = [fit(splits, metric, model, part) for part in parts]
    found = {split: [answers(splits.examples[split]) for answers in fitted] for split in names}
    return {split: rows * len(seeds) if is_whole else rows for split, rows in found.items()}


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
            fitted = fit(part, metric, model, part.examples["train"])
            places = np.flatnonzero(fold_of == number)
            for place, answer in zip(places, fitted(part.examples[SCORED_ON]), strict=True):
                at_home[place] = answer
            for split in names[1:]:
                found[split].append(fitted(part.examples[split]))
        found[SCORED_ON].append(at_home)
    return found


def _dev_score(splits: Splits, metric: str, answers: list) -> float:
    gold = gold_answers(splits.examples[CHOSEN_ON], splits.kind)
    rows = item_statistics(metric, answers, gold, splits.labels, splits.scheme)
    return float(score_of(metric, rows.sum(0)))
