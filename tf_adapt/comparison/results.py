"""The content of a report from finished runs: cells with scores and costs, paired tests.

Imports no TensorFlow.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from tf_adapt.comparison.answers import disagreements, fold_of_examples, predictions_of
from tf_adapt.comparison.baseline import baseline_of, gold_labels, outcome_of
from tf_adapt.comparison.baselines.references import references
from tf_adapt.comparison.cell_results import (
    CHOSEN_ON,
    SCORED_ON,
    Scored,
    scored_cell,
    seed_results,
)
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.comparison.execution.runs import CellRun
from tf_adapt.comparison.kept.answers import KeptAnswers
from tf_adapt.comparison.kept.scores import folds_of_items, of_items, statistics_of_runs, tested
from tf_adapt.comparison.plan.cells import Cell, different_settings
from tf_adapt.comparison.plan.extension import in_words
from tf_adapt.comparison.search.results import search_results
from tf_adapt.comparison.shifted import with_shifted
from tf_adapt.comparison.signal_results import signals_in_words
from tf_adapt.comparison.slices import data_slices
from tf_adapt.comparison.verdict.interim_analyses import InterimAnalyses
from tf_adapt.comparison.verdict.learning_curves import Size, learning_curves
from tf_adapt.comparison.verdict.phrases import describe_all
from tf_adapt.data.splits.groups import item_groups, items_in_words, overlap
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.data.splits.subsampling import missing_labels, part_of
from tf_adapt.report.content import (
    BaselineScores,
    Content,
    ScoredItems,
    Teacher,
)
from tf_adapt.report.scored_cells import TRAINED, LackingLabels, SizedCell
from tf_adapt.runs.finished_run import chain_in_words, module_in_words
from tf_adapt.runs.slices import members_of
from tf_adapt.tasks.kinds import metrics_of


def results(
    outcomes: Outcomes,
    splits: Splits,
    analyses: InterimAnalyses,
    *,
    data: dict[str, str],
    machine: str,
    command: str,
) -> tuple[Content, dict[str, KeptAnswers]]:
    """The content of the report: cells, paired tests, data and versions; without the verdict. With
    it the answers that it is computed from, by the names of their files.

    Args:
        data, machine, command: as in the content.

    Raises:
        ArtifactError: the predictions or the history of a run are missing or damaged.
    """
    comparison = outcomes.comparison
    cells = comparison.cells
    finished, of_sizes = _finished(outcomes), outcomes.of_sizes()
    of_one_model = [one for run in finished for one in run.of_one_model]
    first = outcomes.metrics(finished[0]) if finished else {}
    metric = first.get("metric") or _metric_of(splits)
    examples = splits.examples[SCORED_ON]
    scored = Scored(
        splits,
        metric,
        baseline_of(splits, metric, CHOSEN_ON, SCORED_ON),
        item_groups(examples),
        {
            folder: predictions
            for of_size in of_sizes
            for run in _finished(of_size)
            for folder, predictions in predictions_of(run, splits, SCORED_ON).items()
        },
        {one.encoder.handle: outcomes.metrics(one)["family"] for one in of_one_model},
    )
    shown = [scored_cell(outcomes, cell, scored) for cell in cells]
    signals = signals_in_words(outcomes, metric)
    curves = None
    if len(of_sizes) > 1:
        sizes = [_size(of_size, scored) for of_size in of_sizes]
        curves = learning_curves(metric, sizes, shown, analyses.number)
    content = Content(
        summary=comparison.summary,
        dataset=splits.name,
        genre=getattr(comparison.data, "genre", None),
        kind=splits.kind,
        metric=metric,
        labels=splits.labels,
        splits=splits.descriptions | {"train": _train_in_words(outcomes, splits)},
        scored_on=SCORED_ON,
        chosen_on=CHOSEN_ON,
        examples={name: len(records) for name, records in splits.examples.items()}
        | {"train": _train_examples(outcomes, splits)},
        items=ScoredItems(
            count=int(scored.groups.max()) + 1,
            text=items_in_words(examples, scored.groups),
            # Folds share no text with each other.
            overlap_with_train=0
            if comparison.folds
            else overlap(splits.examples["train"], examples),
            overlap_with_dev=0
            if comparison.folds
            else overlap(splits.examples[CHOSEN_ON], examples),
        ),
        seeds=list(comparison.seeds),
        folds=comparison.folds or None,
        trials=comparison.trials,
        search=search_results(outcomes),
        extended=in_words(comparison, describe_all(shown)) or None,
        different=different_settings(comparison.cells),
        look=analyses.number,
        cells=shown,
        learning_curves=curves,
        pairs=[],
        baseline=_baseline(scored),
        disagreements=disagreements(outcomes, splits, SCORED_ON, scored.predictions),
        versions=first.get("versions", {}),
        modules={
            module_in_words(one.encoder): outcomes.metrics(one)["module"] for one in of_one_model
        },
        truncated={run.cell.name: outcomes.metrics(run)["truncated"] for run in finished},
        data=data,
        machine=machine,
        command=command,
        teacher=None if signals else _teacher(first.get("taught"), metric),
        start=None if signals or not first.get("start") else chain_in_words(first["start"]),
        weak=splits.weak.facts if splits.weak and comparison.has_one_weak else None,
        signals=signals,
    )
    any_trained = any(_trained_runs(outcomes, cell, scored) for cell in cells)
    simple = references(outcomes, splits, metric) if any_trained else {}
    answers = _kept(outcomes, scored, simple.get(SCORED_ON, {}))
    of_runs = statistics_of_runs(content, answers)
    content = tested(content, answers, of_runs, analyses.standing)
    content = _with_slices(content, outcomes, scored, answers)
    return with_shifted(content, outcomes, splits, answers, simple)


def _with_slices(
    content: Content, outcomes: Outcomes, scored: Scored, answers: KeptAnswers
) -> Content:
    slices, kind = outcomes.comparison.slices, scored.splits.kind
    if not slices:
        return content
    members = members_of(slices, scored.splits.examples[SCORED_ON], kind)
    rows, folds = _rows(outcomes, scored), folds_of_items(content, answers)
    found = data_slices(slices, members, content.metric, rows, scored.groups, content.look, folds)
    return replace(content, slices=found)


def _kept(outcomes: Outcomes, scored: Scored, simple: dict[str, list[list]]) -> KeptAnswers:
    """All answers to the scored examples, with those of simple models."""
    cells, splits = outcomes.comparison.cells, scored.splits
    of_cells = {
        cell.name: {
            run.seed: scored.predictions[run.folder]
            for run in outcomes.final_runs(cell)
            if run.folder in scored.predictions
        }
        for cell in cells
    }
    folds = outcomes.comparison.folds
    return KeptAnswers(
        splits.scheme,
        gold_labels(splits, SCORED_ON),
        scored.groups,
        of_cells,
        simple,
        {
            repeat: fold_of_examples(splits, folds, repeat)
            for repeat in (outcomes.comparison.seeds if folds else ())
        },
    )


def _teacher(taught: dict[str, Any] | None, metric: str) -> Teacher | None:
    """The teacher of the runs, by the `taught` of one's `metrics.json`."""
    if taught is None:
        return None
    side = taught["teacher"]
    return Teacher(
        run=taught["run"],
        temperature=taught["temperature"],
        weight=taught["weight"],
        unlabelled=taught["unlabelled"],
        score=side[SCORED_ON][metric],
        parameters=side["parameters"],
        megabytes=side["megabytes"],
        serving_seconds_per_1000=side["serving_per_1000"],
    )


def _finished(outcomes: Outcomes) -> list[CellRun]:
    cells = outcomes.comparison.cells
    return [run for cell in cells for run in outcomes.final_runs(cell) if outcomes.metrics(run)]


def _train_examples(outcomes: Outcomes, splits: Splits) -> int:
    return outcomes.examples or len(splits.examples["train"])


def _train_in_words(outcomes: Outcomes, splits: Splits) -> str:
    description = splits.descriptions["train"]
    if outcomes.examples is None:
        return description
    available = len(splits.examples["train"])
    return f"{description}: {outcomes.examples} examples of {available}, others with each seed"


def _size(outcomes: Outcomes, scored: Scored) -> Size:
    """The results of the cells with the number of training examples of `outcomes`."""
    train, seeds = scored.splits.examples["train"], outcomes.comparison.seeds
    lacking = []
    if outcomes.examples is not None and scored.splits.labels is not None:
        parts = [part_of(train, outcomes.examples, seed) for seed in seeds]
        lacking = [missing for part in parts if (missing := missing_labels(part, train))]
    return Size(
        _train_examples(outcomes, scored.splits),
        {
            cell.name: SizedCell(outcomes.chosen_rate(cell), seed_results(outcomes, cell, scored))
            for cell in outcomes.comparison.cells
        },
        {name: of_items(rows, scored.groups) for name, rows in _rows(outcomes, scored).items()},
        LackingLabels(len(lacking), sorted({label for some in lacking for label in some})),
    )


def _metric_of(splits: Splits) -> str:
    """The metric of the data, for when no run has finished."""
    if splits.metric is not None:
        return splits.metric
    return metrics_of(splits.kind, splits.scheme)[0]


def _rows(outcomes: Outcomes, scored: Scored) -> dict[str, np.ndarray]:
    """`item_statistics` by cell, `[seeds, examples, k]`, of the seeds that trained; cells without a
    trained seed are left out."""
    by_cell = {}
    for cell in outcomes.comparison.cells:
        rows = [scored.statistics_of(run) for run in _trained_runs(outcomes, cell, scored)]
        if rows:
            by_cell[cell.name] = np.stack(rows)
    return by_cell


def _trained_runs(outcomes: Outcomes, cell: Cell, scored: Scored) -> list[CellRun]:
    """The runs of a cell's seeds that trained."""
    kind = scored.splits.kind
    return [
        run
        for run in outcomes.final_runs(cell)
        if outcome_of(outcomes, run, kind, scored.predictions) == TRAINED
    ]


def _baseline(scored: Scored) -> BaselineScores:
    answer = scored.baseline.answer
    return BaselineScores(
        answer=list(answer) if isinstance(answer, tuple) else answer,
        score=scored.baseline.scores[SCORED_ON],
        chosen_on=scored.baseline.scores[CHOSEN_ON],
        cells={},
    )
