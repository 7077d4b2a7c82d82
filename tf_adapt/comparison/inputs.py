"""The data and the other inputs of a comparison."""

import logging
from dataclasses import replace
from pathlib import Path

from tf_adapt.comparison.execution.runs import config_name
from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.comparison.plan.scored_split import settled
from tf_adapt.comparison.plan.signal_cells.dependent import check_parts
from tf_adapt.comparison.plan.sizes import known_sizes
from tf_adapt.comparison.plan.students import check_students
from tf_adapt.comparison.search.studies import check_installed
from tf_adapt.config.data_sections import DatasetConfig, FoldConfig
from tf_adapt.data.splits.fingerprints import fingerprint
from tf_adapt.data.splits.label_warnings import MOST_WARNINGS, label_warnings
from tf_adapt.data.splits.read_splits import Splits, load_splits
from tf_adapt.data.splits.shifted import shifted_splits
from tf_adapt.runs.finished_run import finished_run
from tf_adapt.runs.slices import checked_members
from tf_adapt.runs.teachers import KEY as TEACHER_KEY
from tf_adapt.runs.teachers import identity_of
from tf_adapt.training.resolving.input_hashes import content_hash, input_places

_log = logging.getLogger(__name__)


def checked_splits(comparison: Comparison) -> tuple[Comparison, Splits, dict[str, str]]:
    """The comparison with its folds and seeds, the data of all cells, after a check of sizes, parts
    and slices, and the hash of each split.

    Raises:
        ConfigError, DataError: as `load_splits`, `known_sizes`, `check_parts` and
            `checked_members`; there is a search, and Optuna is not installed.
    """
    if comparison.search is not None:
        check_installed()
    comparison = settled(comparison)
    splits = comparison_splits(comparison)
    known_sizes(comparison.sizes, len(splits.examples["train"]))
    check_parts(comparison, splits.examples["train"])
    checked_members(comparison.slices, splits, comparison.slice_heads)
    examples = splits.examples
    if comparison.folds:
        shifted = {name: examples[name] for name in shifted_splits(examples)}
        examples = {"train": splits.pool} | shifted
    if not isinstance(comparison.data, DatasetConfig):
        _warn(label_warnings(splits.labels, examples))
    return comparison, splits, {name: fingerprint(some) for name, some in examples.items()}


def _warn(warnings: list[str]) -> None:
    """Logs what is suspicious about a user's labels, before hours are spent on it."""
    for warning in warnings[:MOST_WARNINGS]:
        _log.warning("%s", warning)
    if len(warnings) > MOST_WARNINGS:
        _log.warning("%d more of labels: `tf-adapt data check`", len(warnings) - MOST_WARNINGS)


def comparison_splits(comparison: Comparison) -> Splits:
    """The data of all cells. With folds `test` is all examples, each of which is in the test split
    of one fold; train and dev are those of the first.

    Raises:
        ConfigError, DataError: as `load_splits`.
    """
    data, folds = comparison.data, comparison.folds
    if not folds:
        return load_splits(data, comparison.weak)
    splits = load_splits(data.model_copy(update={"fold": FoldConfig(of=folds, leave_out=0)}))
    counts = {name: len(some) for name, some in splits.examples.items()}
    total = len(splits.pool)
    about = f"about {{}} of {total} examples, others in each fold"
    return replace(
        splits,
        examples=splits.examples | {"test": splits.pool},
        descriptions={
            "train": about.format(counts["train"]),
            "dev": about.format(counts["dev"]),
            "test": f"each of the {total} examples, by a model that did not see it: {folds} folds",
        }
        | {name: splits.descriptions[name] for name in shifted_splits(splits.examples)},
    )


def check_new_students(comparison: Comparison, out: Path) -> None:
    """Checks the cells that others teach, but those whose config is in the folder already.

    Raises:
        ConfigError, DataError, ArtifactError: as `check_students`.
    """
    taught = [cell for cell in comparison.cells if cell.teacher is not None]
    check_students([cell for cell in taught if not (out / config_name(cell)).is_file()])


def input_hashes(comparison: Comparison) -> dict[str, str]:
    """The hashes of the cells' modules and files other than the data, by config key and path."""
    # Each once: cells share encoders, and hashing a module without a manifest reads all of it.
    cells = (*comparison.cells, *comparison.starts.values())
    configs = [config for cell in cells for config in cell.configs]
    places = {place for config in configs for place in input_places(config).items()}
    hashes = {f"{key}: {place}": content_hash(key, place) for key, place in sorted(places)}
    for run in {config.start.run: None for config in configs if config.start and config.start.run}:
        hashes[f"start.run: {run}"] = finished_run("start.run", run).weights
    taught = [cell.config for cell in comparison.cells if cell.teacher is None]
    for run in {config.teacher.run: None for config in taught if config.teacher}:
        hashes[f"{TEACHER_KEY}: {run}"] = identity_of(Path(run)).hash
    return hashes
