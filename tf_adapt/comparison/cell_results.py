"""The scores, failed seeds, costs and curves of a cell's runs. Imports no TensorFlow."""

import shlex
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hub_modules.families import joins_pairs
from tf_adapt.comparison.answers import Predictions, confusion
from tf_adapt.comparison.baseline import Baseline, gold_labels, outcome_of
from tf_adapt.comparison.cell_quality import label_qualities, reliability
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.comparison.plan.cells import Cell, encoder_in_words
from tf_adapt.data.gold_answers import label_scores
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import ArtifactError
from tf_adapt.report.scored_cells import (
    DIVERGED,
    ONE_ANSWER,
    TRAINED,
    Costs,
    FailedSeeds,
    Forgetting,
    ScoredCell,
    SeedResults,
    Spread,
    Trial,
)
from tf_adapt.runs import run_folder, run_schemas
from tf_adapt.statistics.scores import item_statistics, score_of, summary

SCORED_ON, CHOSEN_ON = "test", "dev"


@dataclass(frozen=True)
class Scored:
    """The data, metric and predictions that cells are scored with.

    Attributes:
        splits: the data.
        metric: its name.
        baseline: the constant prediction.
        groups: `[examples] int`, the index of each scored example's item in the tests.
        predictions: of each finished run, by run folder.
        families: encoder family by handle, for modules with a finished run.
    """

    splits: Splits
    metric: str
    baseline: Baseline
    groups: np.ndarray
    predictions: Predictions
    families: dict[str, str]

    def statistics_of(self, run: CellRun) -> np.ndarray:
        """`item_statistics` of a finished run, `[examples, k]`."""
        return item_statistics(
            self.metric,
            self.predictions[run.folder],
            gold_labels(self.splits, SCORED_ON),
            self.splits.labels,
            self.splits.scheme,
        )


def scored_cell(outcomes: Outcomes, cell: Cell, scored: Scored) -> ScoredCell:
    """A cell with the results of its runs.

    Raises:
        ArtifactError: the history or the metrics of a run are damaged.
    """
    config, final, parts = cell.config, outcomes.final_runs(cell), outcomes.scored_runs(cell)
    metrics = [of_run for of_run in map(outcomes.metrics, final) if of_run is not None]
    tried = [
        of_run
        for run in outcomes.trials(cell)
        # With folds the chosen ones are among the scored.
        if run not in parts and (of_run := outcomes.metrics(run)) is not None
    ]
    first, family = metrics[0] if metrics else {}, scored.families.get(config.encoder.handle)
    long = config.encoder.long
    return ScoredCell(
        id=cell.name,
        encoder=encoder_in_words(config.encoder),
        module=first.get("module"),
        execution=config.encoder.execution,
        family=family,
        pretrained=cell.pretrained,
        pairs=config.encoder.pairs or ("joint" if joins_pairs(family) and not long else "separate"),
        classification_token=config.encoder.classification_token,
        long=long and f"{long.window} by {long.stride}, {long.pool}",
        prompts=config.encoder.prompts or [],
        adaptation=config.adaptation.name,
        settings=cell.settings,
        head=first.get("head", config.head),
        reads=first.get("reads"),
        learning_rate=outcomes.chosen_rate(cell),
        tried=tried_rates(outcomes, cell),
        results=seed_results(outcomes, cell, scored),
        costs=_costs(metrics, tried),
        curves=[
            dev_curve(run, scored.metric)
            for run in parts
            if outcomes.metrics(run) and not run.together
        ],
        layer_weights=_mean_layer_weights(metrics),
        confusion=confusion(final, scored.splits, SCORED_ON, scored.predictions),
        labels=label_qualities(_label_scores(final, scored)),
        reliability=reliability(_calibrations(outcomes, final)),
        forgetting=_forgetting(metrics),
        commands=[
            shlex.join(["tf-adapt", *trained_run.arguments()])
            for run in parts
            for trained_run in (*run.members, run)
        ],
    )


def tried_rates(outcomes: Outcomes, cell: Cell) -> list[Trial]:
    """The dev score of each learning rate that was tried; with folds the mean over those in which
    every rate has one. Of a search none: its trials are in `search.results`."""
    if cell.search is not None:
        return []
    of_folds: dict[Any, dict[float, float | None]] = {}
    for run in outcomes.trials(cell):
        of_folds.setdefault(run.fold, {})[run.rate] = outcomes.score(run, CHOSEN_ON)
    scored = list(of_folds.values())
    if len(scored) > 1:
        scored = [scores for scores in scored if None not in scores.values()]
    tried = cell.rates if of_folds else ()
    return [
        Trial(rate, float(np.mean([scores[rate] for scores in scored])) if scored else None)
        if len(of_folds) > 1
        else Trial(rate, scored[0][rate])
        for rate in tried
    ]


def seed_results(outcomes: Outcomes, cell: Cell, scored: Scored) -> SeedResults:
    """The scores and outcomes of a cell's seeds, with their summary."""
    final, missing = outcomes.final_runs(cell), len(outcomes.comparison.seeds)
    kind, predictions = scored.splits.kind, scored.predictions
    ended = [outcome_of(outcomes, run, kind, predictions) for run in final]
    if outcomes.is_hopeless(cell):
        ended = [DIVERGED] * missing  # no learning rate left to train with
    scores = [_score(outcomes, run, scored) for run in final]
    scores += [None] * (missing - len(scores))
    known = [score for score in scores if score is not None]
    trained = [s for s, end in zip(scores, ended, strict=False) if end == TRAINED]
    counted = [scored.baseline.scores[SCORED_ON] if score is None else score for score in scores]
    used = [score or 0.0 for score in trained] or known
    nothing = dict.fromkeys(("mean", "deviation", "min", "max"))
    return SeedResults(
        scores=scores,
        outcomes=[*ended, *[None] * (missing - len(ended))],
        trained=len(trained),
        failed=FailedSeeds(ended.count(DIVERGED), ended.count(ONE_ANSWER)),
        **(asdict(summary(used)) if used else nothing),
        mean_of_all=float(np.mean(counted)) if ended else None,
    )


def _score(outcomes: Outcomes, run: CellRun, scored: Scored) -> float | None:
    """The score of a run; of a repeat that of all answers together."""
    if not run.folds or outcomes.metrics(run) is None:
        return outcomes.score(run, SCORED_ON)
    return float(score_of(scored.metric, scored.statistics_of(run).sum(0)))


def _costs(metrics: list[dict[str, Any]], tried: list[dict[str, Any]]) -> Costs:
    """Mean costs over seeds, from `metrics.json`; `tried` are those of trials that are not scored,
    whose memory counts too."""

    def mean(values):
        values = [value for value in values if value is not None]
        return round(float(np.mean(values)), 4) if values else None

    trainable = [of_run["parameters"]["trainable"] for of_run in metrics]
    return Costs(
        trainable_parameters=trainable[0] if trainable else None,
        total_parameters=metrics[0]["parameters"]["total"] if metrics else None,
        training_seconds=mean([of_run["seconds"]["training"] for of_run in metrics]),
        # The minimum: memory that earlier runs of the process left allocated raises later peaks.
        peak_memory_mb=min(
            (of_run["peak_memory_mb"] for of_run in metrics and tried + metrics), default=None
        ),
        serving_seconds_per_1000=mean([f["seconds"].get("serving_per_1000") for f in metrics]),
        task_megabytes=mean([count * run_schemas.BYTES_PER_WEIGHT / 1e6 for count in trainable]),
        choosing_seconds=round(sum(of_run["seconds"]["training"] for of_run in tried), 4) or None,
    )


def _label_scores(runs: list[CellRun], scored: Scored) -> list[dict[str, dict[str, float]]]:
    """The scores of each label, of each run that has finished."""
    splits, gold = scored.splits, gold_labels(scored.splits, SCORED_ON)
    return [
        label_scores(scored.predictions[run.folder], gold, splits.kind, splits.scheme)
        for run in runs
        if run.folder in scored.predictions
    ]


def _calibrations(outcomes: Outcomes, runs: list[CellRun]) -> list[dict[str, Any]]:
    """The calibration of each training on the scored split, or on its fold, where it is known."""
    metrics = [outcomes.metrics(part) or {} for run in runs for part in run.folds or (run,)]
    splits = [(of_run.get("quality") or {}).get(SCORED_ON) or {} for of_run in metrics]
    return [split["calibration"] for split in splits if split.get("calibration")]


def _forgetting(metrics: list[dict[str, Any]]) -> Forgetting | None:
    """What the runs measured of their source task; None where they did not."""
    measured = [of_run["forgetting"] for of_run in metrics if of_run.get("forgetting")]
    if not measured:
        return None
    first = measured[0]
    return Forgetting(
        task=first["task"],
        texts=first["texts"],
        targets=first["targets"],
        before=first["before"],
        after=_spread([of_run["after"] for of_run in measured]),
        distances={
            group: _spread([of_run["distances"][group] for of_run in measured])
            for group in first["distances"]
        },
    )


def _spread(values: list[float]) -> Spread:
    of_values = summary(values)
    return Spread(of_values.mean, of_values.deviation)


def dev_curve(run: CellRun, metric: str) -> list[float | None]:
    """The dev score after each epoch."""
    target = run.cell.config.target
    name = f"{CHOSEN_ON}_{metric}" if target is None else f"{CHOSEN_ON}_{target}/{metric}"
    try:
        column = [row[name] for row in run_folder.read_history(run.folder)]
        return [float(value) if value else None for value in column]
    except (ValueError, KeyError, TypeError) as error:
        raise ArtifactError(
            f"{run.folder / run_folder.HISTORY}: expected a number in column "
            f"{name}, got something else ({error}); remove the run folder and run "
            "the command again"
        ) from None


def _mean_layer_weights(metrics: list[dict[str, Any]]) -> list[float] | None:
    layer_weights = [of_run["layer_weights"] for of_run in metrics if of_run.get("layer_weights")]
    if len({len(weights) for weights in layer_weights}) > 1:
        raise ArtifactError(
            "layer_weights: expected one for each layer in every run of a cell, got "
            f"{', '.join(str(len(weights)) for weights in layer_weights)}; remove the run folders "
            "whose metrics.json is of another module, and run the command again"
        )
    return [round(float(w), 4) for w in np.mean(layer_weights, axis=0)] if layer_weights else None
