"""What can be done with a trained run or an export: load it, score a file, predict a file."""

import json
import os
from pathlib import Path

import numpy as np
import tensorflow as tf

from hub_modules.manifest import MANIFEST, read_manifest, verify
from tf_adapt import checkpoints, run_folder
from tf_adapt.compiling import configured_model
from tf_adapt.config import data_section
from tf_adapt.config_sections import Config, FilesConfig
from tf_adapt.data.batches import batches_from, prepare, sorted_batches
from tf_adapt.data.datasets import read_file
from tf_adapt.data.labels import convert_scheme
from tf_adapt.data.splits import load_splits
from tf_adapt.errors import ArtifactError
from tf_adapt.fisher import save_fisher, task_fisher
from tf_adapt.model import AdaptedModel, check_answers
from tf_adapt.monitoring import tracked
from tf_adapt.predicting import (
    Prediction,
    model_answers,
    predict,
    sentence_scores,
    to_predictions,
    write_predictions,
)
from tf_adapt.serving import EXPORT, export, next_version
from tf_adapt.tasks import Task

BATCH_SIZE = 32


def load_run(folder: str | os.PathLike) -> AdaptedModel:
    """The model of a run, with the weights of its best epoch; it computes in float32.

    Raises:
        ArtifactError: no run is there, it has no finished epoch, or its files are damaged.
    """
    return _load(Path(folder))[0]


def evaluate_file(run: str | os.PathLike, path: str | os.PathLike) -> dict[str, float]:
    """Loss and metrics of a run on a labelled file in the format of the run's dataset.

    Raises:
        ArtifactError: as `load_run`.
        DataError: what is in the file is wrong, or does not fit the run's labels.
    """
    model, config = _load(Path(run))
    records = read_file(path, config.data)
    # A dataset's tags come in the scheme of the task, those of the user's own files as they are.
    if model.task.is_tagging and isinstance(config.data, FilesConfig):
        records = convert_scheme(records, config.data.scheme, model.task.scheme)
    settings = config.training
    prepared = prepare(records, model.task, model.encoder, *settings.limits)
    model.compile(loss=model.task.loss, metrics=model.task.metrics, jit_compile=False)
    dataset, _ = sorted_batches(prepared, settings.batch_size)
    scores = {
        name: float(value)
        for name, value in model.evaluate(dataset, return_dict=True, verbose=0).items()
    }
    if model.task.is_tagging:
        answer = model_answers(model, prepared, settings.batch_size)
        scores |= sentence_scores(model.task, records, to_predictions(model.task, records, answer))
    return scores


def predict_file(
    run_or_export: str | os.PathLike, path: str | os.PathLike, output: str | os.PathLike
) -> int:
    """Predicts a file with a run or an export and writes `output`; returns the examples predicted.

    The file is read in the format of the run's dataset, labels ignored. An export that was written
    without that knowledge takes plain files: see `config.data_section`.

    Raises:
        ArtifactError: the run or export is missing or damaged, or `output` cannot be written.
        ConfigError: the run is of a language model.
        DataError: what is in the file is wrong.
    """
    folder = Path(run_or_export)
    if (folder / MANIFEST).is_file() or (folder / "saved_model.pb").is_file():
        task, records, predictions = _predict_with_export(folder, path)
    else:
        model, config = _load(folder)
        check_answers(model.task)
        settings = config.training
        task, records = model.task, read_file(path, config.data, labelled=False)
        predictions = predict(
            model,
            records,
            settings.batch_size,
            settings.max_length,
            settings.truncate,
            progress=True,
            document_context=settings.document_context,
        )
    write_predictions(output, task, records, predictions)
    return len(records)


def export_run(run: str | os.PathLike, folder: str | os.PathLike) -> Path:
    """Exports a run into the next numbered folder under `folder`; returns that folder.

    Raises:
        ArtifactError: as `load_run` and `export`.
        ConfigError: the run is of a language model.
    """
    model, config = _load(Path(run))
    check_answers(model.task)
    settings = config.training
    # How files are read is part of an export, where they were is not.
    places = {"data_dir": None, "train": "", "dev": "", "test": None}
    data = config.data.model_dump(mode="json")
    data = {key: places.get(key, value) for key, value in data.items()}
    return export(
        model,
        next_version(folder),
        settings.max_length,
        settings.truncate,
        data,
        settings.document_context,
    )


def fisher_of_run(
    run: str | os.PathLike,
    output: str | os.PathLike,
    examples: int = 200,
    seed: int = 0,
    sampled: bool = True,
) -> int:
    """Writes the Fisher information of a run's task for EWC; returns the examples it rests on.

    It is estimated at the run's best weights, on the first examples of its training data.

    Raises:
        ArtifactError: as `load_run`, or `output` cannot be written.
        ConfigError: as `task_fisher`.
        DataError: the training data is gone or changed.
    """
    model, config = _load(Path(run))
    model.encoder.trainable = True
    records = load_splits(config.data).examples["train"][:examples]
    prepared = prepare(records, model.task, model.encoder, *config.training.limits)
    batches = batches_from(prepared, 1, shuffle=False)
    shown = tracked(batches, "Fisher information", shown=True)
    save_fisher(output, task_fisher(model, shown, examples, seed, sampled))
    return min(examples, int(batches.cardinality()))


def _load(folder: Path) -> tuple[AdaptedModel, Config]:
    if not (folder / run_folder.CONFIG).is_file():
        raise ArtifactError(
            f"{folder}: expected the folder of a run or of an export, but it holds neither "
            f"{run_folder.CONFIG} nor {MANIFEST}; name the folder that `tf-adapt train` or "
            "`tf-adapt export` wrote"
        )
    config = run_folder.saved_config(folder)
    description = run_folder.saved_task(folder)
    best = checkpoints.load_best(folder / "checkpoint")
    model = configured_model(config, Task.from_config(description["task"]))
    if model.encoder.module_hash != description["module"]:
        raise ArtifactError(
            f"{folder}: the run was trained on another module than the one that is now at "
            f"{config.encoder.handle} (expected hash {description['module'][:12]}…, got "
            f"{model.encoder.module_hash[:12]}…); bring the module back"
        )
    checkpoints.assign(model.weights, best.arrays["model"], str(best.path))
    return model, config


def _predict_with_export(folder: Path, path) -> tuple[Task, list, list[Prediction]]:
    import tensorflow_text  # noqa: F401  # registers the ops of the export

    manifest = read_manifest(folder)
    if manifest is None or manifest.get("kind") != EXPORT:
        got = "a SavedModel without manifest" if manifest is None else f"a {manifest.get('kind')}"
        raise ArtifactError(
            f"{folder}: expected an export, got {got}; write one with `tf-adapt export`"
        )
    verify(folder, manifest)
    description = json.loads((folder / "task.json").read_text("utf-8"))
    task = Task.from_config(description["task"])
    records = read_file(path, data_section(description["data"], task.kind), labelled=False)
    serve = tf.saved_model.load(str(folder)).signatures["serving_default"]
    answers = [
        _served(task, serve, records[start : start + BATCH_SIZE])
        for start in range(0, len(records), BATCH_SIZE)
    ]
    answer = {name: np.concatenate([part[name] for part in answers]) for name in answers[0]}
    return task, records, to_predictions(task, records, answer)


def _served(task: Task, serve, records: list) -> dict[str, np.ndarray]:
    """What a served batch says, in the form of `answers`."""
    if task.is_tagging:
        words = tf.ragged.constant([record.words for record in records], dtype=tf.string)
        served = serve(tokens=words.to_tensor(""))
        served = {
            name: tf.RaggedTensor.from_tensor(values, lengths=words.row_lengths()).flat_values
            for name, values in served.items()
        }
        return {
            "label": _ids(task, served["tags"]),
            "probabilities": served["scores"].numpy(),
        }
    names = ("text_a", "text_b") if task.is_pair else ("text_a",)
    columns = [tf.constant([getattr(record, name) for record in records]) for name in names]
    served = serve(**dict(zip(names if task.is_pair else ("text",), columns, strict=True)))
    if task.is_regression:
        return {"score": served["score"].numpy()}
    return {"label": _ids(task, served["label"]), "probabilities": served["scores"].numpy()}


def _ids(task: Task, labels: tf.Tensor) -> np.ndarray:
    ids = {label: number for number, label in enumerate(task.labels)}
    return np.array([ids[label.decode("utf-8")] for label in labels.numpy()])
