"""A run that is finished already, when it is asked for again."""

import shutil
from pathlib import Path
from typing import Any

from tf_adapt.config.sections import Config
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.runs import ensemble_folder, run_folder
from tf_adapt.training.finished.same_data import check_unchanged
from tf_adapt.training.resolving import run_config
from tf_adapt.training.resolving.configured_splits import splits_of
from tf_adapt.training.results.slices import score_again


def finished_before(config: Config, folder: Path) -> dict[str, Any] | None:
    """The metrics of a run that is finished, with other slices scored anew; else None.

    Raises:
        ConfigError: the folder is that of another run, or of an average of weights.
        DataError, ArtifactError: the run is damaged, or its data have changed.
    """
    before = run_config.saved_config(folder)
    if before is None:
        return None
    ensemble_folder.refuse_average(folder)
    run_config.check_same_run(folder, before, config)
    metrics = run_folder.finished_metrics(folder)
    if metrics is None or before.training.epochs != config.training.epochs:
        return None
    run_folder.check_finished(folder, metrics)
    check_unchanged(folder, lambda: splits_of(config))
    shutil.rmtree(folder / run_folder.FEATURES, ignore_errors=True)
    if before.slices == config.slices:
        return metrics
    with run_folder.locked(folder):
        of_task = config.of_task(config.target) if config.tasks else config
        given = config.slices, config.slice_heads, config.target
        return score_again(folder, *given, lambda: load_splits(of_task.data, of_task.weak), metrics)
