"""Finished runs with random weights, without a training."""

from pathlib import Path

import keras
import numpy as np
from finished_runs import METRICS

from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.reading import config_from
from tf_adapt.data.packing.prepare import task_of
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.training.resolving import run_config
from tf_adapt.training.resolving.compiled_model import configured_model


def make_run(folder: Path, handle: Path, dataset: str, seed: int = 0, **changed) -> Path:
    """A run folder as `tf-adapt train` leaves it, its weights drawn with the seed, but without
    predictions; the scores are no scores.

    Args:
        dataset: of the sample.
        changed: keys of the config; `thresholds`: of the task.
    """
    thresholds = changed.pop("thresholds", None)
    training = {"epochs": 2, "batch_size": 16, "learning_rate": 1e-3, "seed": seed}
    content = {
        "data": {"dataset": f"sample_{dataset}", "source": "sample", **changed.pop("data", {})},
        "encoder": {"handle": str(handle), **changed.pop("encoder", {})},
        "adaptation": "fine_tuning",
        "training": training | changed.pop("training", {}),
    }
    config = resolve_paths(config_from(content | changed, "test"))
    splits = load_splits(config.data)
    task = task_of(splits)
    keras.utils.set_random_seed(seed)
    model = configured_model(config, task)
    random = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(weight.numpy() + random.normal(0, 0.3, weight.shape).astype("float32"))
    folder.mkdir(parents=True)
    run_config.start(folder, config)
    described = task.get_config() | {"thresholds": thresholds}
    run_folder.write_task(folder, described, model.encoder.module_hash)
    weights = checkpoints.to_arrays(model.weights)
    checkpoints.save_best(folder / "checkpoint", checkpoints.best_name(1), weights)
    reached = {split: {task.metric: 0.5} for split in ("dev", "test") if split in splits.examples}
    metrics = METRICS | {"dataset": dataset, "metric": task.metric, "seed": seed, "best_epoch": 2}
    metrics |= {"epochs": 2, "module": model.encoder.module_hash, "test": None, **reached}
    run_folder.write_metrics(folder, metrics)
    return folder
