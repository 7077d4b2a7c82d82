"""Trains one run: a config → a run folder with the model, its predictions and its scores.

The same config, data, versions and device give bitwise the same weights, even if the run is killed
and resumed: the order of the data is a function of (seed, epoch), and the states of optimizer,
dropout and metrics are saved with the weights.
"""

import contextlib
import gc
import shutil
from pathlib import Path
from typing import Any

from tf_adapt.config.sections import Config
from tf_adapt.encoder.feature_cache import reading_features
from tf_adapt.runs import run_folder
from tf_adapt.training.epochs import run_epochs
from tf_adapt.training.resolving.determinism import set_seed
from tf_adapt.training.resolving.devices import is_chief, make_strategy
from tf_adapt.training.resolving.finished_before import finished_before
from tf_adapt.training.resolving.first_run import first_config
from tf_adapt.training.resolving.resolve import description, resolve
from tf_adapt.training.resolving.session import Session
from tf_adapt.training.resolving.whole_config import whole_config
from tf_adapt.training.results.finish import finish_run
from tf_adapt.training.results.memory import forget_peak


def train(config: Config, folder: str | Path, session: Session | None = None) -> dict[str, Any]:
    """Trains one model, or resumes an interrupted run; returns the content of `metrics.json`.

    The result is the weights of the epoch with the best dev score (the first of equals). With
    `patience` training ends after that many epochs without a better score, with `stop_below` after
    one where the best is too low, else after all epochs.
    A finished run is not changed, except that other slices are scored on its predictions. With
    `start.config` the run in `folder/start` is trained, or resumed, first.

    Args:
        session: shared by the trainings of a process: those that differ only in seed and learning
            rate are traced once, with the same results.

    Raises:
        ConfigError, DataError, ArtifactError: config, data, module or run folder are invalid, or
            do not fit each other.
        TrainingError: a loss or a gradient is not finite; the last checkpoint stays valid.
        KeyboardInterrupt, SystemExit: after SIGINT or SIGTERM, once the state has been saved.
    """
    folder = Path(folder)
    config = whole_config(config)
    metrics = finished_before(config, folder)
    if metrics is not None:
        return metrics
    if config.start is not None and config.start.config is not None:
        _train_first(config, folder)
    set_seed(config)
    strategy = make_strategy(config.training.devices, config.training.strategy)
    if session is not None:
        forget_peak()
    writes = is_chief(strategy)
    with run_folder.locked(folder) if writes else contextlib.nullcontext():
        run = resolve(config, folder, strategy, writes, session or Session())
        about = description(config, run)
        run_epochs(run, lambda scalars: scalars.describe(*about))
        with reading_features(*run.data.values()):
            metrics = finish_run(run)
        if writes:
            shutil.rmtree(folder / run_folder.FEATURES, ignore_errors=True)
        return metrics


def _train_first(config: Config, folder: Path) -> None:
    """Trains the run that another starts from, in its folder."""
    with run_folder.locked(folder):
        first = first_config(config, folder)
        if first is None:
            return
        train(first, folder / run_folder.START)
    gc.collect()  # a model has reference cycles
    forget_peak()
