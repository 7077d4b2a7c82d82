"""The end of a run: predictions and scores of the best weights, parameters, times, memory."""

import sys
import time
from dataclasses import replace
from typing import Any

import keras
import tensorflow as tf
import tensorflow_text

import tf_adapt
from hub_modules.half_kernels import half_kernels
from hub_modules.weights import count_parameters
from tf_adapt import checkpoints, run_folder
from tf_adapt.data.batches import batches_from, sorted_batches
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.memory import peak_memory
from tf_adapt.monitoring import plain_numbers
from tf_adapt.predicting import (
    inputs_of,
    model_answers,
    sentence_scores,
    to_predictions,
    write_predictions,
)
from tf_adapt.tasks import head_name

SERVED, SERVED_BATCH = 256, 32


def finish_run(run) -> dict[str, Any]:
    """Puts the best weights into the model, predicts, scores, and writes `metrics.json`.

    Raises:
        ArtifactError: the best weights are damaged, or nothing can be written.
    """
    best = run.state.best
    weights = checkpoints.read(run.folder / "checkpoint" / best["name"]).arrays["model"]
    checkpoints.assign(run.model.weights, weights, best["name"])
    scores = {"dev": _dev_scores(run)}
    if "test" in run.data:
        dataset, _ = sorted_batches(run.data["test"], run.config.training.batch_size)
        scores["test"] = plain_numbers(run.model.evaluate(dataset, return_dict=True, verbose=0))
    if run.writes and not run.model.task.is_language_model:
        for split in scores:
            scores[split] |= _predict(run, split)
    metrics = _metrics(run, scores)
    if run.writes:
        run_folder.write_metrics(run.folder, metrics)
    return metrics


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {
        "tf_adapt": tf_adapt.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "tensorflow": tf.__version__,
        "tensorflow_text": tensorflow_text.__version__,
        "keras": keras.__version__,
    }


def _predict(run, split: str) -> dict[str, float]:
    """Writes the predictions of a split; for tagging, returns the scores of whole sentences."""
    task, examples = run.model.task, run.splits.examples[split]
    answer = model_answers(run.model, run.data[split], run.config.training.batch_size)
    predictions = to_predictions(task, examples, answer)
    write_predictions(run.folder / "predictions" / f"{split}.tsv", task, examples, predictions)
    return sentence_scores(task, examples, predictions) if task.is_tagging else {}


def _dev_scores(run) -> dict[str, float | None]:
    row = run.state.history[run.state.best["epoch"]]
    return {
        name.removeprefix("dev_"): value for name, value in row.items() if name.startswith("dev_")
    }


def _metrics(run, scores: dict[str, dict]) -> dict[str, Any]:
    return {
        "dataset": run.splits.name,
        "adaptation": run.config.adaptation.name,
        "encoder": run.config.encoder.handle,
        "module": run.model.encoder.module_hash,
        "family": run.model.encoder.family,
        **_head(run),
        "seed": run.config.training.seed,
        **scores,
        "metric": run.model.task.metric,
        "best_epoch": run.state.best["epoch"] + 1,
        "epochs": run.state.epoch,
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


def _head(run) -> dict[str, Any]:
    """The head by name, and its learned weights of the encoder's layers where it mixes them."""
    model, ever_trained = run.model, {id(weight) for weight in run.ever_trained}
    if model.task.is_language_model:
        return {}
    frozen = not any(id(weight) in ever_trained for weight in model.encoder.weights)
    name = head_name(run.config.head, model.task, model.encoder.family, frozen)
    mixes = [layer for layer in model.head._flatten_layers() if isinstance(layer, ScalarMix)]
    weights = [[round(float(w), 6) for w in mix.layer_weights] for mix in mixes]
    return {"head": name, "layer_weights": weights[0] if weights else None}


def _serving_seconds(run) -> dict[str, float]:
    """Seconds for 1,000 examples of dev from prepared texts to answers, in batches of 32, measured
    on the first `SERVED` of them once the step is traced."""
    if run.model.task.is_language_model:
        return {}
    prepared = replace(run.data["dev"], features=None)
    dataset = inputs_of(batches_from(prepared, SERVED_BATCH, shuffle=False))
    kernels = half_kernels(run.model)
    run.model.answer.get_concrete_function(dataset.element_spec, kernels)
    batches = list(dataset.take(SERVED // SERVED_BATCH))
    for batch in batches:
        run.model.answer(batch, kernels)
    started = time.monotonic()
    for batch in batches:
        tf.nest.map_structure(lambda answer: answer.numpy(), run.model.answer(batch, kernels))
    examples = min(len(prepared.lengths), SERVED)
    return {"serving_per_1000": round((time.monotonic() - started) * 1000 / examples, 2)}
