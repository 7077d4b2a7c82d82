"""The data and the other inputs of a comparison."""

from pathlib import Path

from tf_adapt.comparison.execution.runs import config_name
from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.comparison.plan.folds import check_folds
from tf_adapt.comparison.plan.sizes import known_sizes
from tf_adapt.comparison.plan.students import check_students
from tf_adapt.data.splits.read_splits import Splits, fingerprint, load_splits
from tf_adapt.runs.finished_run import finished_run
from tf_adapt.runs.slices import checked_members
from tf_adapt.runs.teachers import KEY as TEACHER_KEY
from tf_adapt.runs.teachers import identity_of
from tf_adapt.training.resolving.input_hashes import content_hash, input_places


def checked_splits(comparison: Comparison) -> tuple[Splits, dict[str, str]]:
    """The data of all cells, after a check of sizes, folds and slices; the hash of each split.

    Raises:
        ConfigError, DataError: as `load_splits`, `known_sizes`, `check_folds` and
            `checked_members`.
    """
    splits = load_splits(comparison.data, comparison.weak)
    known_sizes(comparison.sizes, len(splits.examples["train"]))
    check_folds(comparison, splits.examples["train"])
    checked_members(comparison.slices, splits, comparison.slice_heads)
    return splits, {name: fingerprint(examples) for name, examples in splits.examples.items()}


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
    places = {place for cell in cells for place in input_places(cell.config).items()}
    hashes = {f"{key}: {place}": content_hash(key, place) for key, place in sorted(places)}
    configs = [cell.config for cell in comparison.cells]
    for run in {config.start.run: None for config in configs if config.start and config.start.run}:
        hashes[f"start.run: {run}"] = finished_run("start.run", run).weights
    taught = [cell.config for cell in comparison.cells if cell.teacher is None]
    for run in {config.teacher.run: None for config in taught if config.teacher}:
        hashes[f"{TEACHER_KEY}: {run}"] = identity_of(Path(run)).hash
    return hashes
