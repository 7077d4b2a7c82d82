"""What a comparison would run, without running it: `tf-adapt compare CONFIG --dry-run`.

Every model is built and every text is tokenized, so that a cell that cannot work is found here, not
hours later. The one file of this folder that imports TensorFlow.
"""

import gc
from typing import Any

import tensorflow as tf
from rich.table import Table

from hub_modules.weights import count_parameters
from tf_adapt.adaptation import HEAD
from tf_adapt.comparison.machine import jobs_at_once
from tf_adapt.comparison.results import CHOSEN_ON, SCORED_ON
from tf_adapt.comparison.settings import Cell, Comparison
from tf_adapt.compiling import compiled_model, penalised, precision
from tf_adapt.data.batches import prepare
from tf_adapt.data.splits import Splits, load_splits
from tf_adapt.devices import make_strategy
from tf_adapt.errors import TfAdaptError
from tf_adapt.strict_yaml import float_text
from tf_adapt.tasks import Task, head_name


def dry_run(comparison: Comparison) -> dict[str, Any]:
    """Plain values: a section a cell, the splits, and how many runs there are.

    Raises:
        ConfigError, DataError, ArtifactError: as `train` before its first step, for the first cell
            that cannot work; its name is in the message.
    """
    # First: devices cannot be split once TensorFlow is at work.
    strategies = [_of_cell(cell, _strategy, cell) for cell in comparison.cells]
    splits = load_splits(comparison.cells[0].config.data)
    task, read = Task.of(splits), set()
    cells = []
    for cell, strategy in zip(comparison.cells, strategies, strict=True):
        cells.append(_of_cell(cell, _planned, cell, strategy, task, splits, read))
        gc.collect()  # a model is full of cycles, and all of them would not fit into memory
    # A single rate needs no trial; the seed of trials is not scored.
    tried = comparison.trials if comparison.trials > 1 else 0
    return {
        "cells": cells,
        "splits": splits.descriptions,
        "examples": {name: len(examples) for name, examples in splits.examples.items()},
        "chosen_on": CHOSEN_ON,
        "scored_on": SCORED_ON,
        "seeds": list(comparison.seeds),
        "trials": comparison.trials,
        "runs": (tried + len(comparison.seeds)) * len(cells),
        "threads": comparison.threads,
        "jobs": jobs_at_once(len(cells), comparison.threads),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """What stands under the table."""
    said = {
        name: f"{_counted(found['examples'][name], 'example')}: {description}"
        for name, description in found["splits"].items()
    }
    return [
        f"trains on {said['train']}",
        f"chooses epochs and learning rates on {said[found['chosen_on']]}",
        f"scores {said[found['scored_on']]}",
        f"runs: {found['runs']} = {_counted(len(found['cells']), 'cell')} × "
        f"{_runs_of_a_cell(found)}",
        f"{_counted(found['threads'], 'thread')} a run; by default "
        f"{_counted(found['jobs'], 'process')} at a time, on this machine as it is now",
    ]


def _runs_of_a_cell(found: dict[str, Any]) -> str:
    seeds = _counted(len(found["seeds"]), "seed")
    if found["trials"] == 1:
        return seeds
    return f"({found['trials']} learning rates to choose from + {seeds} with the chosen one)"


def cells_table(found: dict[str, Any]) -> Table:
    """The cells as a table for a terminal."""
    table = Table(box=None, title_justify="left", pad_edge=False)
    for name in ("cell", "head", "trains"):
        table.add_column(name)
    table.add_column("parameters", justify="right")
    table.add_column("learning rates")
    table.add_column("epochs", justify="right")
    for cell in found["cells"]:
        table.add_row(
            cell["cell"],
            cell["head"],
            "everything" if cell["trains_everything"] else ", ".join(reversed(cell["trains"])),
            f"{cell['parameters']['trainable']:,}",
            ", ".join(map(float_text, cell["learning_rates"])),
            str(cell["epochs"]),
        )
    return table


def _of_cell(cell: Cell, make, *arguments) -> Any:
    """A part of a cell's plan; what is wrong with it is said of that cell."""
    try:
        return make(*arguments)
    except TfAdaptError as error:
        raise type(error)(f"cell {cell.name}: {error}") from None


def _strategy(cell: Cell) -> tf.distribute.Strategy:
    return make_strategy(cell.config.training.devices, cell.config.training.strategy)


def _planned(
    cell: Cell, strategy: tf.distribute.Strategy, task: Task, splits: Splits, read: set
) -> dict[str, Any]:
    config = cell.config
    with precision(config.training.mixed_precision), strategy.scope():
        model = compiled_model(config, task)
        penalised(config, model)
    encoder = model.encoder
    reading = (encoder.module_hash, encoder.joint_pairs, config.training.limits)
    if reading not in read:  # cells that read the texts alike accept the same ones
        read.add(reading)
        for examples in splits.examples.values():
            prepare(examples, task, encoder, *config.training.limits)
    groups = encoder.trainable_groups
    return {
        "cell": cell.name,
        "encoder": config.encoder.handle,
        "adaptation": config.adaptation.name,
        "settings": cell.settings,
        "head": head_name(config.head, task, encoder.family, frozen=not groups),
        "trains": [*groups, HEAD],
        "trains_everything": groups == encoder.adaptable_groups,
        "parameters": {
            "total": count_parameters(model.weights),
            "trainable": count_parameters(model.trainable_weights),
        },
        "learning_rates": list(cell.rates),
        "epochs": config.training.epochs,
    }


def _counted(number: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
