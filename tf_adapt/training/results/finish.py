"""The end of a run: predictions and scores of the best weights; parameters, seconds, memory."""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tensorflow_text

from hub_modules.native.weights import count_parameters
from tf_adapt.data.batches import PreparedData
from tf_adapt.data.splits.shifted import domain_of, shifted_splits
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.multi_task_model import MultiTaskModel
from tf_adapt.runs import checkpoints, run_folder, run_schemas
from tf_adapt.runs.kinds import KINDS as FILES
from tf_adapt.runs.prediction_files import write_predictions
from tf_adapt.serving.prediction.predict import batch_predictions, inputs_in_order, to_predictions
from tf_adapt.serving.prediction.prediction_forms import predictions_text
from tf_adapt.tasks.kinds import KINDS as TASKS
from tf_adapt.training.callbacks import plain_numbers
from tf_adapt.training.event_files import write_slices
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.results.memory import peak_memory
from tf_adapt.training.results.quality import quality
from tf_adapt.training.results.slices import Scores, scores_of_run
from tf_adapt.training.run import Run
from tf_adapt.version import __version__

SERVED, SERVED_BATCH = 256, 32


def finish_run(run: Run) -> dict[str, Any]:
    """Restores the best weights, predicts, scores, and writes `metrics.json`.

    Raises:
        ArtifactError: the best weights are damaged, or the run folder cannot be written.
        TrainingError: thresholds cannot be chosen, because probabilities are not finite; or a loss
            of the source task is not.
    """
    best = run.state.best
    checkpoint = checkpoints.read(run.checkpoints / best["name"])
    checkpoints.assign(run.model.weights, checkpoint.arrays.get("model", {}), str(checkpoint.path))
    metrics = _metrics_of_tasks(run) if run.tasks else _metrics(run, _scores(run))
    if run.start is not None and run.writes:
        distances = run.start.relative_distances()
        metrics["distances"] = {name: round(value, 6) for name, value in distances.items()}
    if run.slices and run.writes:
        metrics["slices"] = _slice_scores(run)
    if run.source_task is not None and run.writes:  # last: it needs memory of its own
        metrics["forgetting"] = run.source_task.measured(run.model.encoder)
    if run.writes:
        run_folder.write_metrics(run.folder, metrics)
    return metrics


def write_tasks(folder: Path, model: AdaptedModel | MultiTaskModel) -> None:
    """Writes `task.json` of a run: its task, or its tasks by name."""
    is_one = isinstance(model, AdaptedModel)
    tasks = {} if is_one else {name: adapted.task for name, adapted in model.models.items()}
    run_folder.write_task(
        folder,
        model.task.get_config() if is_one else None,
        model.encoder.module_hash,
        {name: task.get_config() for name, task in tasks.items()},
    )


def _metrics_of_tasks(run: Run) -> dict[str, Any]:
    """The metrics of the target, and in `tasks` what differs between the tasks."""
    target, metrics = _target(run), {}
    for name in sorted(run.tasks, key=lambda name: name == target):  # last: `seconds` are its own
        of_task = run.of_task(name)
        metrics[name] = _metrics(of_task, _scores(of_task))
    differing = ("dataset", "head", "layer_weights", "dev", "test", "metric", "splits", "truncated")
    tasks = {
        name: {key: metrics[name][key] for key in differing if key in metrics[name]}
        | {"serving_per_1000": metrics[name]["seconds"]["serving_per_1000"]}
        for name in run.tasks
    }
    parameters = {"total": count_parameters(run.model.weights)}
    return metrics[target] | {
        "parameters": metrics[target]["parameters"] | parameters,
        "target": target,
        "tasks": tasks,
    }


def _target(run: Run) -> str:
    """The target of a run of several tasks."""
    return run.settings.score.partition("/")[0]


def _scores(run: Run) -> dict[str, dict[str, float | None]]:
    """The scores of one task by split; writes its predictions."""
    row, scores = KINDS[run.model.task.kind], {"dev": _dev_scores(run)}
    if "test" in run.data:
        given = run.data["test"], run.splits.examples["test"], run.settings.batch_size
        scores["test"] = plain_numbers(row.evaluated_last(run.model, *given))
    further = shifted_splits(run.data)
    for split in further:
        given = run.data[split], run.splits.examples[split], run.settings.batch_size
        scores[split] = plain_numbers(row.evaluated_last(run.model, *given))
    predicted, qualities = _predict(run, row.predicted_splits(list(scores), run.writes))
    for split, of_split in predicted.items():
        scores[split] |= of_split
    abroad = {domain_of(split): scores.pop(split) for split in further}
    qualities = {split: one for split, one in qualities.items() if split not in further}
    return (
        scores
        | ({"quality": qualities} if any(qualities.values()) else {})
        | ({"shifted": abroad} if abroad else {})
    )


def versions() -> dict[str, str]:
    """Versions of the packages that results depend on."""
    return {
        "tf_adapt": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "tensorflow": tf.__version__,
        "tensorflow_text": tensorflow_text.__version__,
        "keras": keras.__version__,
    }


def _predict(run: Run, names: list[str]) -> tuple[dict[str, Scores], dict[str, dict]]:
    """Writes the predictions of the splits; returns the scores computed from them, see
    `tf_adapt.training.kinds.Row.predicted_scores`, and their `quality`."""
    size, scores, qualities = run.settings.batch_size, {}, {}
    answers = {split: batch_predictions(run.model, run.data[split], size) for split in names}
    task = run.model.task
    row = KINDS[task.kind]
    if run.settings.choose_thresholds:
        task = row.with_thresholds(task, run.splits.examples["dev"], answers["dev"])
        if run.writes:
            run_folder.write_task(run.folder, task.get_config(), run.model.encoder.module_hash)
    for split, answer in answers.items():
        examples = run.splits.examples[split]
        predictions = to_predictions(task, examples, answer)
        if run.writes:
            form = FILES[task.kind].form
            text = predictions_text(form, task, examples, predictions, with_scores=True)
            write_predictions(run.folder, split, text, run.task)
        scores[split] = plain_numbers(row.predicted_scores(task, examples, answer, predictions))
        qualities[split] = quality(task, examples, predictions)
    return scores, qualities


def _slice_scores(run: Run) -> dict[str, Scores]:
    of_target = run.of_task(_target(run)) if run.tasks else run
    task, examples = of_target.model.task, of_target.splits.examples
    results = scores_of_run(run.folder, run.slices, run.members, task, examples, of_target.task)
    write_slices(run.folder / "tensorboard", results, run.state.global_step)
    return results


def _dev_scores(run: Run) -> dict[str, float | None]:
    row = run.state.history[run.state.best["epoch"]]
    prefix = "dev_" if run.task is None else f"dev_{run.task}/"
    return {
        name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)
    }


def _metrics(run: Run, scores: dict[str, dict]) -> dict[str, Any]:
    return {
        "dataset": run.splits.name,
        "adaptation": run.settings.adaptation.name,
        "encoder": run.settings.encoder,
        "module": run.model.encoder.module_hash,
        "family": run.model.encoder.family,
        **_head(run),
        "seed": run.settings.seed,
        **({} if run.started_from is None else {"start": run.started_from}),
        **_taught(run, scores),
        **({} if run.splits.weak is None else {"weak": run.splits.weak.facts}),
        **_slice_heads(run),
        **scores,
        "metric": run.model.task.metric,
        "best_epoch": run.state.best["epoch"] + 1,
        "epochs": run.state.epoch,
        **KINDS[run.model.task.kind].facts(run.splits.examples),
        "splits": run.splits.descriptions,
        "truncated": {split: prepared.truncated for split, prepared in run.data.items()},
        "parameters": {
            "total": count_parameters(run.model.weights),
            "trainable": count_parameters(run.ever_trained),
        },
        "seconds": {
            **{name: round(value, 1) for name, value in run.state.seconds.items()},
            **_serving_seconds(run),
            "total": round(time.monotonic() - run.started, 1),
        },
        **peak_memory(),
        "versions": versions(),
    }


def _taught(run: Run, scores: dict[str, dict]) -> dict[str, Any]:
    """The teacher and its student side by side, if there is a teacher."""
    if run.teacher is None:
        return {}
    of_splits = {split: scores[split] for split in run.data if split in scores}
    return {"taught": run.teacher | {"student": of_splits | costs_of(run.model, run.data["dev"])}}


def _slice_heads(run: Run) -> dict[str, dict[str, int]]:
    """How many training examples the head of each slice has, if slices have heads."""
    targets = run.data["train"].slice_targets
    if targets is None:
        return {}
    counts = (targets.numpy() >= 0).sum(axis=0).tolist()
    return {"slice_heads": dict(zip(run.slices, counts, strict=True))}


def costs_of(model: AdaptedModel, dev: PreparedData) -> dict[str, Any]:
    """Parameters of a model that predicts, their megabytes, and seconds per 1,000 dev examples."""
    parameters = count_parameters([*model.encoder.weights, *model.head.weights])
    parameters -= count_parameters(model.encoder.weights_of_other_tasks(model.task_name))
    return {
        "parameters": parameters,
        "megabytes": round(parameters * run_schemas.BYTES_PER_WEIGHT / 1e6, 3),
        "serving_per_1000": serving_seconds(model, dev),
    }


def _head(run: Run) -> dict[str, Any]:
    """The head's name, what it reads, and its layer weights."""
    if run.settings.head is None:
        return {}
    return {
        "head": run.settings.head,
        "reads": run.settings.reads,
        "layer_weights": layer_weights(run.model.head),
    }


def layer_weights(head: keras.layers.Layer) -> list[float] | None:
    """The layer weights of a head's first `ScalarMix`, if it has one."""
    mixes = [layer for layer in head._flatten_layers() if isinstance(layer, ScalarMix)]
    return [round(float(weight), 6) for weight in mixes[0].layer_weights] if mixes else None


def _serving_seconds(run: Run) -> dict[str, float]:
    """Seconds per 1,000 dev examples from prepared texts to predictions, in batches of 32.

    Measured on the first `SERVED` examples after tracing. Nothing of a language model.
    """
    if TASKS[run.model.task.kind].target is None:
        return {}
    return {"serving_per_1000": serving_seconds(run.model, run.data["dev"])}


def serving_seconds(model: AdaptedModel, prepared: PreparedData) -> float:
    """Seconds per 1,000 examples from prepared texts to predictions, in batches of 32."""
    examples = min(len(prepared.lengths), SERVED)
    order = np.split(np.arange(examples), range(SERVED_BATCH, examples, SERVED_BATCH))
    inputs, spec = inputs_in_order(replace(prepared, features=None), order)
    batches = list(inputs)
    predictions = model.inference.for_pass(spec)  # the graph of the predictions
    predictions(batches[0])  # traces
    started = time.monotonic()
    for batch in batches:
        tf.nest.map_structure(lambda tensor: tensor.numpy(), predictions(batch))
    return round((time.monotonic() - started) * 1000 / examples, 2)
