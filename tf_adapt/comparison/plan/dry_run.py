"""The plan of a comparison, without training: `tf-adapt compare CONFIG --dry-run`.

Builds every model and tokenizes every text, to find cells that cannot work before hours of
training. The only file of this folder that imports TensorFlow.
"""

import gc
import time
from dataclasses import asdict
from typing import Any

import tensorflow as tf

from hub_modules.native.weights import count_parameters
from hub_modules.storage.machine import gpus
from tf_adapt.adaptation.phases import HEAD
from tf_adapt.adaptation.unfreezing import group_names
from tf_adapt.comparison.budget.costs import Pace, ending_of
from tf_adapt.comparison.budget.halving import wanted
from tf_adapt.comparison.budget.planned import measured_runs, planned_budget
from tf_adapt.comparison.cell_results import CHOSEN_ON, SCORED_ON
from tf_adapt.comparison.execution.jobs import default_gpus_per_run, jobs_at_once
from tf_adapt.comparison.inputs import comparison_splits
from tf_adapt.comparison.plan.cells import Cell, Comparison
from tf_adapt.comparison.plan.expected_costs import (
    CellCosts,
    expected_costs,
)
from tf_adapt.comparison.plan.scored_split import settled
from tf_adapt.comparison.plan.signal_cells.dependent import check_parts
from tf_adapt.comparison.plan.sizes import known_sizes
from tf_adapt.comparison.search.space import in_words
from tf_adapt.comparison.search.studies import check_installed
from tf_adapt.config.default_training import family_of
from tf_adapt.data.packing.prepare import prepare, task_of
from tf_adapt.data.splits.groups import item_groups
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import TfAdaptError
from tf_adapt.runs.slices import checked_members
from tf_adapt.tasks.task import Task
from tf_adapt.training.cache_plan import cache_plan
from tf_adapt.training.dry_run import defaults_of
from tf_adapt.training.dry_run import dry_run as plan_of_run
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.measured_costs import measured_costs
from tf_adapt.training.resolving.build import plan_of
from tf_adapt.training.resolving.compiled_model import penalised, precision
from tf_adapt.training.resolving.devices import make_strategy
from tf_adapt.training.resolving.warm_start import started_model, starting_run


def dry_run(comparison: Comparison, jobs: int | None = None) -> dict[str, Any]:
    """The plan as plain values: cells, splits, and the number of runs.

    Args:
        jobs: runs at a time; None: as many as this machine allows.

    Raises:
        ConfigError: as `known_sizes` and `checked_members`.
        ConfigError, DataError, ArtifactError: as `train` before its first step, for the first cell
            that cannot work; the message names the cell.
    """
    # First: logical devices cannot be configured after TensorFlow has initialised.
    if comparison.search is not None:
        check_installed()
    strategies = [
        [
            _of_cell(cell, make_strategy, config.training.devices, config.training.strategy)
            for config in cell.configs
        ]
        for cell in comparison.cells
    ]
    comparison = settled(comparison)
    splits = comparison_splits(comparison)
    starting = time.process_time()
    numbers = known_sizes(comparison.sizes, len(splits.examples["train"]))
    check_parts(comparison, splits.examples["train"])
    in_slices = checked_members(comparison.slices, splits, comparison.slice_heads)[SCORED_ON]
    task, read = task_of(splits), {}
    cells, measured = [], []
    for cell, (strategy, *_) in zip(comparison.cells, strategies, strict=True):
        planned, costs = _of_cell(cell, _planned, cell, strategy, task, splits, read)
        cells.append(planned)
        measured += [] if costs is None else [costs]
        gc.collect()  # models contain reference cycles, and all together do not fit into memory
    # A single rate needs no trials; the seed of trials is an extra one.
    tried = comparison.trials if comparison.trials > 1 else 0
    folds = comparison.folds
    members = len(comparison.seeds) * sum(cell.together for cell in comparison.cells)
    visible = len(gpus())
    most = visible // default_gpus_per_run(comparison.devices, visible) if visible else None
    jobs = jobs or jobs_at_once(len(cells), comparison.threads, most)
    examples = {name: len(records) for name, records in splits.examples.items()}
    # A run of a fold scores that fold.
    of_run = examples | ({"test": examples["test"] // folds} if folds else {})
    known = {costs.name for costs in measured}
    costs = expected_costs(
        measured,
        [cell["cell"] for cell in cells if cell["cell"] not in known],
        train=numbers,
        examples=of_run,
        runs=_runs_of_cell(comparison, tried),
        starting=starting,
        threads=comparison.threads,
        jobs=jobs,
        trials=max(1, folds) * tried,
        minutes=None if comparison.search is None else comparison.search.minutes,
    )
    return {
        "cells": cells,
        "splits": splits.descriptions,
        "examples": examples,
        # The tests count examples that share a text once.
        "items": int(item_groups(splits.examples[SCORED_ON]).max(initial=-1)) + 1,
        "chosen_on": CHOSEN_ON,
        "scored_on": SCORED_ON,
        "seeds": list(comparison.seeds),
        "trials": comparison.trials,
        "search": comparison.search and comparison.search.model_dump(exclude={"space"}),
        "train_examples": numbers,
        "slices": {name: int(mask.sum()) for name, mask in in_slices.items()},
        "folds": folds,
        "runs": _runs_of_cell(comparison, tried) * len(cells) * len(numbers)
        + (folds * sum(1 for cell in comparison.cells if cell.together and tried))
        + _exported(comparison, tried)
        + max(1, folds) * members * len(numbers)
        + len(comparison.starts),
        **({"members": members * len(numbers)} if members else {}),
        **({"first": list(comparison.starts)} if comparison.starts else {}),
        "defaults": defaults_of(comparison.cells[0].config),
        "threads": comparison.threads,
        "extend": comparison.extend and comparison.minutes is None,
        "jobs": jobs,
        "costs": asdict(costs),
        **_within_minutes(comparison, measured, splits, starting, of_run, jobs),
    }


def _within_minutes(
    comparison: Comparison,
    measured: list[CellCosts],
    splits: Splits,
    starting: float,
    examples: dict[str, int],
    jobs: int,
) -> dict[str, Any]:
    """What a budget allows, as the key `budget` of a plan; nothing without one."""
    if comparison.minutes is None:
        return {}
    available = known_sizes(comparison.sizes, len(splits.examples["train"]))[-1]
    runs = measured_runs(measured, available, examples, starting)
    at_end = ending_of(splits.examples, wanted(len(comparison.cells)))
    pace = Pace(runs, 1 / comparison.threads, jobs, at_end)
    return {"budget": asdict(planned_budget(comparison, available, pace))}


def _runs_of_cell(comparison: Comparison, tried: int) -> int:
    """Its trials and final runs; with folds the chosen trials of rates are those of the first
    repeat."""
    seeds, folds = len(comparison.seeds), comparison.folds
    scored = min(tried, 1) if folds and comparison.search is None else 0
    return max(1, folds) * (tried + seeds - scored)


def _exported(comparison: Comparison, tried: int) -> int:
    """With folds the runs on all examples: for each rate, or each setting that a fold chose."""
    if not comparison.folds:
        return 0
    return max(tried, 1) if comparison.search is None else comparison.folds


def _of_cell(cell: Cell, make, *arguments) -> Any:
    """Calls `make`; errors name the cell."""
    return _named(f"cell {cell.name}", make, *arguments)


def _named(name: str, make, *arguments) -> Any:
    try:
        return make(*arguments)
    except TfAdaptError as error:
        raise type(error)(f"{name}: {error}") from None


def _planned(
    cell: Cell, strategy: tf.distribute.Strategy, task: Task, splits: Splits, read: dict
) -> tuple[dict[str, Any], CellCosts | None]:
    """The plan of a cell, and what it costs; None where that is not measured."""
    config = cell.config
    if cell.signal is not None or (config.start is not None and config.start.config is not None):
        return _planned_alone(cell, task), None
    started = time.process_time()
    with precision(config.training.mixed_precision), strategy.scope():
        model = started_model(config, task, starting_run(config))
        penalised(config.penalties, model)
    building, encoder = time.process_time() - started, model.encoder
    reading = (
        encoder.module_hash,
        encoder.joint_pairs,
        encoder.max_length,
        encoder.prompts,
        config.training.limits,
    )
    if reading not in read:  # cells with equal tokenization accept the same texts
        read[reading] = {
            split: prepare(examples, task, encoder, *config.training.limits)
            for split, examples in splits.examples.items()
        }
    data, batch_size = read[reading], config.training.batch_size
    steps = len(model.epoch_order(data["train"], batch_size, config.training.seed, 0))
    plan = plan_of(config, group_names(encoder), steps)
    groups, row = encoder.trainable_groups, KINDS[task.kind]
    frozen, reading_of_head = not groups, config.reading_of_head | model.chosen_reading
    planned = _of_config(cell) | {
        "head": row.head_name(config.head, task, encoder.family, frozen),
        "reads": row.head_reads(reading_of_head, task, encoder.family, frozen),
        "trains": [*groups, HEAD],
        "trains_everything": groups == encoder.adaptable_groups,
        "parameters": {
            "total": count_parameters(model.weights),
            "trainable": count_parameters(model.trainable_weights),
        },
        "kept": cache_plan(config.features, plan, model, data, cached=True),
    }
    return planned, _costs(cell, model, data, splits, reading, building, steps)


def _costs(
    cell: Cell, model, data: dict, splits: Splits, reading: tuple, building: float, steps: int
) -> CellCosts | None:
    training = cell.config.training
    if training.devices is not None or training.strategy is not None:
        return None
    with precision(training.mixed_precision):
        measured = measured_costs(
            model,
            data["train"],
            splits.examples["train"],
            training.batch_size,
            training.limits,
            cell.config.features,
        )
    return CellCosts(
        name=cell.name,
        reading=reading,
        epochs=training.epochs,
        batch_size=training.batch_size,
        building=building,
        measured=measured,
        steps_per_batch=steps / -(-len(data["train"].lengths) // training.batch_size),
    )


def _tried_in(cell: Cell) -> dict[str, Any]:
    """What is tried in it: learning rates, or a space."""
    if cell.search is None:
        return {"learning_rates": list(cell.rates)}
    return {"learning_rates": [], "space": in_words(cell.search.space)}


def _planned_alone(cell: Cell, task: Task) -> dict[str, Any]:
    """As `_planned`, of a cell with further data of its own: from the plan of its run, which reads
    and checks these too."""
    config = cell.config
    of_task = config if config.target is None else config.of_task(config.target)
    plan = plan_of_run(config, cell.teacher is None)
    for number, of_member in enumerate(cell.member_configs):
        _named(f"member {number}", plan_of_run, of_member, cell.teacher is None)
    # A model of a hub is in its cache now.
    family, frozen = family_of(config.encoder.handle), not config.adaptation.trains_encoder
    groups = dict.fromkeys(name for phase in plan["plan"] for name in phase["groups"])
    row = KINDS[task.kind]
    return _of_config(cell) | {
        "head": row.head_name(of_task.head, task, family, frozen),
        "reads": row.head_reads(of_task.reading_of_head, task, family, frozen),
        "trains": list(groups),
        "trains_everything": set(groups) == set(plan["factors"]),
        "parameters": {
            "total": plan["parameters"],
            "trainable": max(phase["parameters"] for phase in plan["plan"]),
        },
        "kept": plan["kept"],
    }


def _of_config(cell: Cell) -> dict[str, Any]:
    config = cell.config
    return {
        "cell": cell.name,
        "encoder": config.encoder.handle,
        "adaptation": config.adaptation.name,
        "settings": cell.settings,
        **_tried_in(cell),
        "epochs": config.training.epochs,
    }
