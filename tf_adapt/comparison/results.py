"""The finished runs of a comparison as plain values: cells with scores and costs, paired tests.

The content of `report.json`, but for what `comparing` adds. Imports no TensorFlow.
"""

import csv
import shlex
from collections import Counter
from typing import Any

import numpy as np

from tf_adapt.comparison.runs import CellRun, Outcomes
from tf_adapt.comparison.settings import Cell, short_name
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.splits import Splits
from tf_adapt.errors import ArtifactError
from tf_adapt.prediction_files import read_predictions
from tf_adapt.statistics.pairs import compare_pairs
from tf_adapt.statistics.scores import item_statistics, summary

SCORED_ON, CHOSEN_ON = "test", "dev"
SHOWN_DISAGREEMENTS = 20
BYTES_PER_WEIGHT = 4


def results(outcomes: Outcomes, splits: Splits) -> dict[str, Any]:
    """Cells, paired tests, and what they rest on.

    Raises:
        ArtifactError: the predictions or the history of a run are missing or damaged.
    """
    comparison = outcomes.comparison
    cells = comparison.cells
    finished = [run for cell in cells for run in outcomes.final_runs(cell) if outcomes.metrics(run)]
    predictions = {run.folder: _predictions(run, splits) for run in finished}
    gold = _gold(splits)
    first = outcomes.metrics(finished[0]) if finished else {}
    metric = first.get("metric", splits.metric)
    return {
        "format": 1,
        "summary": comparison.summary,
        "dataset": splits.name,
        "kind": splits.kind,
        "metric": metric,
        "labels": splits.labels,
        "splits": splits.descriptions,
        "scored_on": SCORED_ON,
        "chosen_on": CHOSEN_ON,
        "examples": {name: len(examples) for name, examples in splits.examples.items()},
        "seeds": list(comparison.seeds),
        "trials": comparison.trials,
        "cells": [_cell(outcomes, cell, splits, gold, predictions) for cell in cells],
        "pairs": _pairs(outcomes, metric, splits, gold, predictions),
        "majority": _majority(splits, metric, gold),
        "disagreements": _disagreements(outcomes, splits, gold, predictions),
        "versions": first.get("versions", {}),
        "modules": {
            run.cell.config.encoder.handle: outcomes.metrics(run)["module"] for run in finished
        },
        # How many examples each encoder has read without their ends.
        "truncated": {
            short_name(run.cell.config.encoder.handle): outcomes.metrics(run)["truncated"]
            for run in finished
        },
    }


def _cell(
    outcomes: Outcomes, cell: Cell, splits: Splits, gold: list, predictions: dict
) -> dict[str, Any]:
    config, final = cell.config, outcomes.final_runs(cell)
    metrics = [found for found in map(outcomes.metrics, final) if found is not None]
    tried = [found for found in map(outcomes.metrics, outcomes.trials(cell)) if found is not None]
    scores = [outcomes.score(run, SCORED_ON) for run in final]
    scores += [None] * (len(outcomes.comparison.seeds) - len(scores))
    known = [score for score in scores if score is not None]
    found = summary(known) if known else None
    first = metrics[0] if metrics else {}
    return {
        "id": cell.name,
        "encoder": short_name(config.encoder.handle),
        "family": first.get("family"),
        "pretrained": cell.pretrained,
        "pairs": config.encoder.pairs or ("joint" if first.get("family") == "bert" else "separate"),
        "adaptation": config.adaptation.name,
        "settings": cell.settings,
        "head": first.get("head", config.head),
        "learning_rate": outcomes.chosen_rate(cell),
        "tried": [
            {"learning_rate": run.rate, "score": outcomes.score(run, CHOSEN_ON)}
            for run in outcomes.trials(cell)
        ],
        "scores": scores,
        **(found or dict.fromkeys(("mean", "deviation", "min", "max"))),
        "costs": _costs(metrics, tried),
        "curves": [_curve(run, first["metric"]) for run in final if outcomes.metrics(run)],
        "layer_weights": _mean_layer_weights(metrics),
        "confusion": _confusion(final, splits, gold, predictions),
        "commands": [shlex.join(["tf-adapt", *run.arguments()]) for run in final],
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


def _predictions(run: CellRun, splits: Splits) -> list:
    """What a run says of each scored example."""
    found = read_predictions(run.folder, SCORED_ON, splits.kind)
    expected = len(splits.examples[SCORED_ON])
    if len(found) != expected:
        raise ArtifactError(
            f"{run.folder}: expected predictions of {expected} {SCORED_ON} examples, got "
            f"{len(found)}; remove the run folder and run the command again"
        )
    return found


def _gold(splits: Splits) -> list:
    """The true label of each scored example, in the form of the predictions."""
    examples = splits.examples[SCORED_ON]
    if splits.kind == "tagging":
        return [list(example.tags) for example in examples]
    labels = [example.label for example in examples]
    if splits.kind == "pair_regression":
        return [float(label) for label in labels]
    return labels


def _majority(splits: Splits, metric: str, gold: list) -> dict[str, Any] | None:
    """What the most frequent label of train would score as the answer to everything.

    None where the metric is another than accuracy: there a constant answer scores nothing.
    """
    if metric != "accuracy":
        return None
    (label, _), *_ = Counter(example.label for example in splits.examples["train"]).most_common(1)
    return {"label": label, "score": gold.count(label) / len(gold)}


def _pairs(
    outcomes: Outcomes, metric: str, splits: Splits, gold: list, predictions: dict
) -> list[dict]:
    """The paired tests between all cells of which every seed is finished."""
    statistics = {}
    for cell in outcomes.comparison.cells:
        runs = outcomes.final_runs(cell)
        if runs and all(run.folder in predictions for run in runs):
            said = [predictions[run.folder] for run in runs]
            statistics[cell.name] = np.stack(
                [
                    item_statistics(metric, answers, gold, splits.labels, splits.scheme)
                    for answers in said
                ]
            )
    return compare_pairs(metric, statistics)


def _confusion(
    runs: list[CellRun], splits: Splits, gold: list, predictions: dict
) -> list[list[int]] | None:
    """Rows: the true label; columns: the predicted one; summed over seeds."""
    if splits.kind not in ("classification", "pair_classification"):
        return None
    said = [predictions[run.folder] for run in runs if run.folder in predictions]
    if not said:
        return None
    counts = Counter(pair for labels in said for pair in zip(gold, labels, strict=True))
    return [[counts[true, other] for other in splits.labels] for true in splits.labels]


def _disagreements(outcomes: Outcomes, splits: Splits, gold: list, predictions: dict) -> list[dict]:
    """Examples of which cells say different things, most evenly split first; first seed."""
    cells = [cell for cell in outcomes.comparison.cells if cell.pretrained]
    said = {
        cell.name: predictions[run.folder]
        for cell in cells
        for run in outcomes.final_runs(cell)[:1]
        if run.folder in predictions
    }
    if splits.kind == "pair_regression" or len(said) < 2:
        return []
    found = []
    for number, example in enumerate(splits.examples[SCORED_ON]):
        answers = {name: labels[number] for name, labels in said.items()}
        right = sum(answer == gold[number] for answer in answers.values())
        if 0 < right < len(answers):
            found.append((abs(2 * right - len(answers)), number, example, answers))
    found.sort(key=lambda entry: entry[:2])
    return [
        {
            "where": example.where,
            "text_a": _text(example),
            "text_b": getattr(example, "text_b", None),
            "label": _shown(gold[number]),
            "answers": {name: _shown(answer) for name, answer in answers.items()},
        }
        for _, number, example, answers in found[:SHOWN_DISAGREEMENTS]
    ]


def _text(example) -> str:
    return " ".join(example.words) if isinstance(example, TaggedSentence) else example.text_a


def _shown(label) -> str:
    return " ".join(label) if isinstance(label, list) else str(label)
