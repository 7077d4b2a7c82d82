"""The finished runs of a comparison as plain values: cells with scores and costs, paired tests.

The content of `report.json`, but for what `comparing` adds. Imports no TensorFlow.
"""

import csv
import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np

from tf_adapt.comparison.answers import confusion, disagreements, predictions_of
from tf_adapt.comparison.baseline import (
    AT_BASELINE,
    DIVERGED,
    TRAINED,
    Baseline,
    baseline_of,
    gold_labels,
    outcome_of,
)
from tf_adapt.comparison.looks import Looks
from tf_adapt.comparison.runs import CellRun, Outcomes
from tf_adapt.comparison.settings import Cell, different_settings, short_name
from tf_adapt.data.groups import item_groups, items_in_words, overlap_with_train
from tf_adapt.data.splits import Splits
from tf_adapt.errors import ArtifactError
from tf_adapt.statistics.pairs import above_baseline, compare_pairs
from tf_adapt.statistics.scores import item_statistics, of_groups, summary

SCORED_ON, CHOSEN_ON = "test", "dev"
BYTES_PER_WEIGHT = 4


@dataclass(frozen=True)
class _Scored:
    """What the runs are judged by.

    Attributes:
        splits: the data.
        metric: the score.
        baseline: the constant answer.
        groups: `[examples]`: which scored examples are one item of the tests.
        predictions: of each finished run by its folder.
        families: of the modules by handle, where a run has finished.
    """

    splits: Splits
    metric: str
    baseline: Baseline
    groups: np.ndarray
    predictions: dict
    families: dict[str, str]


def results(outcomes: Outcomes, splits: Splits, looks: Looks) -> dict[str, Any]:
    """Cells, paired tests, and what they rest on.

    Raises:
        ArtifactError: the predictions or the history of a run are missing or damaged.
    """
    comparison = outcomes.comparison
    cells = comparison.cells
    finished = [run for cell in cells for run in outcomes.final_runs(cell) if outcomes.metrics(run)]
    first = outcomes.metrics(finished[0]) if finished else {}
    metric = first.get("metric") or _metric_of(splits)
    examples = splits.examples[SCORED_ON]
    scored = _Scored(
        splits,
        metric,
        baseline_of(splits, metric, CHOSEN_ON, SCORED_ON),
        item_groups(examples),
        {run.folder: predictions_of(run, splits, SCORED_ON) for run in finished},
        {run.cell.config.encoder.handle: outcomes.metrics(run)["family"] for run in finished},
    )
    statistics = _statistics(outcomes, scored)
    return {
        "format": 2,
        "summary": comparison.summary,
        "dataset": splits.name,
        "kind": splits.kind,
        "metric": metric,
        "labels": splits.labels,
        "splits": splits.descriptions,
        "scored_on": SCORED_ON,
        "chosen_on": CHOSEN_ON,
        "examples": {name: len(found) for name, found in splits.examples.items()},
        "items": {
            "count": int(scored.groups.max()) + 1,
            "text": items_in_words(examples, scored.groups),
            "overlap_with_train": overlap_with_train(splits.examples["train"], examples),
        },
        "seeds": list(comparison.seeds),
        "trials": comparison.trials,
        "different": different_settings(comparison.cells),
        "look": looks.number,
        "cells": [_cell(outcomes, cell, scored) for cell in cells],
        "pairs": compare_pairs(metric, statistics, looks.number, looks.standing),
        "baseline": _baseline(scored, statistics, looks.number),
        "disagreements": disagreements(outcomes, splits, SCORED_ON, scored.predictions),
        "versions": first.get("versions", {}),
        "modules": {
            run.cell.config.encoder.handle: outcomes.metrics(run)["module"] for run in finished
        },
        # How many examples each cell has read without their ends.
        "truncated": {run.cell.name: outcomes.metrics(run)["truncated"] for run in finished},
    }


def _metric_of(splits: Splits) -> str:
    """Where no run is finished, so that none says it."""
    if splits.metric is not None:
        return splits.metric
    return {"pair_regression": "pearson", "tagging": "span_f1"}.get(splits.kind, "accuracy")


def _cell(outcomes: Outcomes, cell: Cell, scored: _Scored) -> dict[str, Any]:
    config, final = cell.config, outcomes.final_runs(cell)
    metrics = [found for found in map(outcomes.metrics, final) if found is not None]
    tried = [found for found in map(outcomes.metrics, outcomes.trials(cell)) if found is not None]
    first, family = metrics[0] if metrics else {}, scored.families.get(config.encoder.handle)
    return {
        "id": cell.name,
        "encoder": short_name(config.encoder.handle),
        "module": first.get("module"),
        "execution": config.encoder.execution,
        "family": family,
        "pretrained": cell.pretrained,
        "pairs": config.encoder.pairs or ("joint" if family == "bert" else "separate"),
        "adaptation": config.adaptation.name,
        "settings": cell.settings,
        "head": first.get("head", config.head),
        "learning_rate": outcomes.chosen_rate(cell),
        "tried": [
            {"learning_rate": run.rate, "score": outcomes.score(run, CHOSEN_ON)}
            for run in outcomes.trials(cell)
        ],
        **_scores(outcomes, cell, scored.baseline),
        "costs": _costs(metrics, tried),
        "curves": [_curve(run, scored.metric) for run in final if outcomes.metrics(run)],
        "layer_weights": _mean_layer_weights(metrics),
        "confusion": confusion(final, scored.splits, SCORED_ON, scored.predictions),
        "commands": [shlex.join(["tf-adapt", *run.arguments()]) for run in final],
    }


def _scores(outcomes: Outcomes, cell: Cell, baseline: Baseline) -> dict[str, Any]:
    """The scores of the seeds, how each ended, and what they come to.

    Mean, deviation, minimum and maximum are those of the seeds that trained; where none did, of all
    that have a score. `mean_of_all` counts a seed without a score as the baseline.
    """
    final, missing = outcomes.final_runs(cell), len(outcomes.comparison.seeds)
    ended = [outcome_of(outcomes, run, CHOSEN_ON, baseline) for run in final]
    if not final and outcomes.trials(cell) and all(map(outcomes.failed, outcomes.trials(cell))):
        ended = [DIVERGED] * missing  # no learning rate is left to run them with
    scores = [outcomes.score(run, SCORED_ON) for run in final]
    scores += [None] * (missing - len(scores))
    known = [score for score in scores if score is not None]
    trained = [s for s, end in zip(scores, ended, strict=False) if end == TRAINED]
    counted = [baseline.scores[SCORED_ON] if score is None else score for score in scores]
    used = [score or 0.0 for score in trained] or known
    return {
        "scores": scores,
        "outcomes": [*ended, *[None] * (missing - len(ended))],
        "trained": len(trained),
        "failed": {kind: ended.count(kind) for kind in (DIVERGED, AT_BASELINE)},
        **(summary(used) if used else dict.fromkeys(("mean", "deviation", "min", "max"))),
        "mean_of_all": float(np.mean(counted)) if ended else None,
    }


def _statistics(outcomes: Outcomes, scored: _Scored) -> dict[str, np.ndarray]:
    """By cell `[seeds, items, k]`, of the seeds that trained; without cells of which none did."""
    gold, splits = gold_labels(scored.splits, SCORED_ON), scored.splits
    found = {}
    for cell in outcomes.comparison.cells:
        runs = [
            run
            for run in outcomes.final_runs(cell)
            if outcome_of(outcomes, run, CHOSEN_ON, scored.baseline) == TRAINED
        ]
        rows = [
            item_statistics(
                scored.metric, scored.predictions[run.folder], gold, splits.labels, splits.scheme
            )
            for run in runs
        ]
        if rows:
            found[cell.name] = np.stack([of_groups(one, scored.groups) for one in rows])
    return found


def _baseline(scored: _Scored, statistics: dict[str, np.ndarray], look: int) -> dict[str, Any]:
    baseline = scored.baseline
    rows = of_groups(baseline.statistics, scored.groups)
    return {
        "answer": baseline.answer,
        "score": baseline.scores[SCORED_ON],
        "chosen_on": baseline.scores[CHOSEN_ON],
        "cells": above_baseline(scored.metric, statistics, rows, look),
    }


def _costs(metrics: list[dict], tried: list[dict]) -> dict[str, float | None]:
    def mean(values):
        values = [value for value in values if value is not None]
        return round(float(np.mean(values)), 4) if values else None

    trainable = [found["parameters"]["trainable"] for found in metrics]
    return {
        "trainable_parameters": trainable[0] if trainable else None,
        "total_parameters": metrics[0]["parameters"]["total"] if metrics else None,
        "training_seconds": mean([found["seconds"]["training"] for found in metrics]),
        # The least of all runs: what one leaves in its process counts in the next one's peak.
        "peak_memory_mb": min(
            (found["peak_memory_mb"] for found in metrics and tried + metrics), default=None
        ),
        "serving_seconds_per_1000": mean([f["seconds"].get("serving_per_1000") for f in metrics]),
        # What each task needs beyond the module, which all of them share.
        "task_megabytes": mean([count * BYTES_PER_WEIGHT / 1e6 for count in trainable]),
    }


def _curve(run: CellRun, metric: str) -> list[float | None]:
    """The dev score after each epoch."""
    path = run.folder / "history.csv"
    try:
        with open(path, encoding="utf-8", newline="") as file:
            column = [row[f"{CHOSEN_ON}_{metric}"] for row in csv.DictReader(file)]
        return [float(value) if value else None for value in column]
    except (OSError, ValueError, KeyError) as error:
        raise ArtifactError(
            f"{path}: cannot be read ({error}); remove the run folder and run the command again"
        ) from None


def _mean_layer_weights(metrics: list[dict]) -> list[float] | None:
    found = [one["layer_weights"] for one in metrics if one.get("layer_weights")]
    return [round(float(w), 4) for w in np.mean(found, axis=0)] if found else None
