"""Makes an ensemble of finished runs: their answers averaged, or their weights (`soup`)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hub_modules.storage.files import publish_folder
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import ConfigError
from tf_adapt.models.combination import Combination, transitions_of
from tf_adapt.runs import ensemble_folder, run_folder
from tf_adapt.runs.ensemble_folder import (
    PROBABILITIES,
    VOTES,
    WEIGHTS,
    EnsembleFile,
    EnsembleMember,
)
from tf_adapt.runs.export_files import saved_task
from tf_adapt.runs.kinds import KINDS as FILES
from tf_adapt.runs.kinds import combinations_of
from tf_adapt.runs.prediction_files import write_predictions
from tf_adapt.runs.run_schemas import TaskArguments
from tf_adapt.serving.prediction.ensemble import Answer, combined
from tf_adapt.serving.prediction.predict import to_predictions
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.serving.prediction.prediction_forms import predictions_text
from tf_adapt.statistics.selection import greedy_weights
from tf_adapt.tasks.task import Task
from tf_adapt.training.ensembles.ensemble_members import (
    Candidate,
    candidates,
    common_splits,
    scored_splits,
)
from tf_adapt.training.ensembles.ensemble_scores import (
    item_sums,
    score,
    split_result,
)
from tf_adapt.training.ensembles.soup import soup
from tf_adapt.training.kinds import KINDS

EQUAL, DEV = "equal", "dev"
PREDICTIONS = "predictions"


def ensemble(
    runs: Sequence[str | os.PathLike],
    out: str | os.PathLike,
    combine: str = PROBABILITIES,
    weights: str = EQUAL,
    average: str = PREDICTIONS,
    trust: bool = False,
) -> EnsembleFile:
    """Makes a new folder of an ensemble of finished runs, and scores it where they were scored.

    With `average="predictions"` the members' answers to each example become one, as
    `tf_adapt.models.combination.Combination` says; the members stay where they are. With
    `average="weights"` the mean of the members' weights is a model of its own, and the folder that
    of a run: for runs of one architecture on one pretrained module (see
    `tf_adapt.training.ensembles.soup.soup`).

    Args:
        runs: folders of finished runs of one task, with the same examples to score.
        out: where no folder is yet.
        combine: "probabilities" (for taggers with a CRF the scores of paths), or "votes" where an
            example or a word has one label.
        weights: "equal"; or "dev": chosen on dev, greedily with replacement
            (`tf_adapt.statistics.selection.greedy_weights`); for weights that are averaged: which
            members take part (`greedy_members`). The score on dev is then too good.
        average: "predictions" or "weights".
        trust: as for `tf_adapt.load_run`.

    Raises:
        ConfigError: an argument is unknown or contradicts another; runs of span extraction; members
            that differ in task, labels, metric, dev or test, or twice the same.
        ArtifactError: a run is missing, unfinished or damaged; `out` exists or cannot be written.
        DataError: the members' data are missing or invalid.

    Source: Caruana et al. 2004 (weights); Wortsman et al. 2022 (average of weights).
    """
    _check_arguments(combine, weights, average)
    out = Path(out)
    run_folder.check_new(out)
    members = candidates(runs)
    _check_combination(members[0], combine)
    splits = common_splits(members)
    if average == WEIGHTS:
        return soup(members, splits, out, weights == DEV, trust)
    pool = _answers(members, splits, combine == VOTES, trust)
    count = len(members)
    alone = [tuple(float(number == other) for other in range(count)) for number in range(count)]
    shares = (1 / count,) * count
    if weights == DEV:
        shares = greedy_weights(lambda tried: pool.score(tried), count)
    metric = pool.task.metric
    of_runs = {split: [pool.sums(only_it, split) for only_it in alone] for split in pool.records}
    best = max(range(count), key=lambda number: score(metric, of_runs["dev"][number]))
    predictions = {split: pool.predictions(shares, split) for split in pool.records}
    results = {
        split: split_result(
            metric, of_runs[split], item_sums(pool.task, records, predictions[split]), best
        )
        for split, records in pool.records.items()
    }
    task = pool.with_thresholds(shares)
    described = EnsembleFile(
        combine=combine,
        chosen_on_dev=weights == DEV,
        thresholds_on_dev=task.thresholds is not None,
        task=TaskArguments(**task.get_config()),
        members=[
            EnsembleMember(
                run=ensemble_folder.place_of(member.folder, out), sha256=member.sha256, weight=share
            )
            for member, share in zip(members, shares, strict=True)
        ],
        results=results,
    )
    with publish_folder(out) as aside:
        form = FILES[task.kind].form
        for split, records in pool.records.items():
            given = (form, task, records, predictions[split])
            text = predictions_text(*given, with_scores=True)
            write_predictions(aside, split, text)
        ensemble_folder.write(aside, described)
    return described


@dataclass(frozen=True)
class _Pool:
    """The answers of all members to dev and test, and what weights make of them.

    Attributes:
        task: without thresholds.
        chooses_thresholds: whether thresholds of labels are chosen on dev, as in a member's run.
        answers: by split, of each member.
        combination: its weights are set for each call.
    """

    task: Task
    chooses_thresholds: bool
    records: dict[str, list]
    answers: dict[str, list[Answer]]
    combination: Combination

    def with_thresholds(self, weights: tuple[float, ...]) -> Task:
        """The task, with thresholds that are best on dev if a member's run chose some."""
        if not self.chooses_thresholds:
            return self.task
        choose = KINDS[self.task.kind].with_thresholds
        return choose(self.task, self.records["dev"], self._answer(weights, "dev"))

    def predictions(self, weights: tuple[float, ...], split: str) -> list[Prediction]:
        """The predictions for a split with these weights."""
        task = self.with_thresholds(weights)
        return to_predictions(task, self.records[split], self._answer(weights, split))

    def sums(self, weights: tuple[float, ...], split: str) -> np.ndarray:
        """`item_sums` of these predictions."""
        return item_sums(self.task, self.records[split], self.predictions(weights, split))

    def score(self, weights: tuple[float, ...]) -> float:
        """The score on dev with these weights."""
        return score(self.task.metric, self.sums(weights, "dev"))

    def _answer(self, weights: tuple[float, ...], split: str) -> Answer:
        self.combination.assign(weights)
        return combined(self.combination, self.answers[split], self.records[split])


def _answers(members: Sequence[Candidate], splits: Splits, votes: bool, trust: bool) -> _Pool:
    """Loads the members one after the other."""
    records = scored_splits(splits)
    answers, transitions = {name: [] for name in records}, []
    for member in members:
        loaded = member.load(trust)
        transitions.append(transitions_of(loaded.model))
        for name, examples in records.items():
            answers[name].append(loaded.answer(examples, progress=True))
    first = members[0]
    task = replace(saved_task(first.task, first.folder), thresholds=None)
    chooses = any(member.task.thresholds is not None for member in members)
    return _Pool(task, chooses, records, answers, Combination(task, transitions, votes))


def _check_arguments(combine: str, weights: str, average: str) -> None:
    given = {"combine": combine, "weights": weights, "average": average}
    known = {
        "combine": (PROBABILITIES, VOTES),
        "weights": (EQUAL, DEV),
        "average": (PREDICTIONS, WEIGHTS),
    }
    for name, value in given.items():
        if value not in known[name]:
            raise ConfigError(f"{name}: expected {' or '.join(known[name])}, got {value!r}")
    if average == WEIGHTS and combine != PROBABILITIES:
        raise ConfigError(
            f"combine: expected none with average: weights, where one model answers, got {combine}"
        )


def _check_combination(member: Candidate, combine: str) -> None:
    kind = member.task.kind
    known = combinations_of(kind)
    if not known:
        raise ConfigError(
            f"{member.folder}: expected a run of another kind than {kind}, whose answers have no "
            "average; export the best run"
        )
    if combine not in known:
        raise ConfigError(
            f"combine: expected {' or '.join(known)} for {kind}, got {combine}, which need one "
            "label for an example or a word"
        )
