"""Uses of a trained run, an ensemble or an export: score or predict a file, export, Fisher."""

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hub_modules.engines.names import TENSORFLOW, check_engine
from hub_modules.manifest import MANIFEST
from tf_adapt.adaptation.fisher import accumulated_fisher, load_fisher, save_fisher, task_fisher
from tf_adapt.adaptation.penalties import check_fisher
from tf_adapt.config.data_sections import Columns, FilesConfig, TfdsConfig
from tf_adapt.config.sections import Config
from tf_adapt.data.batches import PreparedData, batches_from, prepare
from tf_adapt.data.datasets import read_file
from tf_adapt.data.formats.text import named_input
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel, refuse_language_model
from tf_adapt.printing.progress import tracked
from tf_adapt.runs.ensemble_folder import is_ensemble
from tf_adapt.runs.ensemble_folder import read as read_ensemble
from tf_adapt.runs.slices import Slices
from tf_adapt.serving.exports.export import export, next_version
from tf_adapt.serving.exports.model_card import ensemble_card, run_card, with_precision
from tf_adapt.serving.exports.shared_export import ServedTask, export_shared
from tf_adapt.serving.prediction.ensemble import Ensemble
from tf_adapt.serving.prediction.ensemble import scores as ensemble_scores
from tf_adapt.serving.prediction.output_files import check_output
from tf_adapt.serving.prediction.predict import (
    batch_predictions,
    predict,
    to_predictions,
    write_predictions,
)
from tf_adapt.serving.prediction.prediction_forms import check_texts, form_of
from tf_adapt.serving.prediction.served_predictions import predict_with_export
from tf_adapt.tasks.task import Task
from tf_adapt.training.ensembles.load_ensemble import loaded_ensemble
from tf_adapt.training.finished.load_run import loaded_run, loaded_tasks
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.resolving import compiled_model
from tf_adapt.training.results.slices import scores_of_predictions

TABLES = ("tsv", "csv", "jsonl")


def evaluate_file(
    run: str | os.PathLike,
    path: str | os.PathLike,
    trust: bool = False,
    name: str | None = None,
    engine: str = TENSORFLOW,
) -> dict[str, Any]:
    """Loss and metrics of a run on a labelled file, or on standard input if `path` is `-`.

    The file is read as in `predict_file`, but with labels. With slices in the run's config, of an
    ensemble in that of its first member, their scores are under `slices`. An ensemble has no loss.

    Args:
        trust, name: see `load_run`.
        engine: of the encoder: see `HubEncoder`.

    Raises:
        ArtifactError, ConfigError: as `load_run`, `load_ensemble`; the encoder cannot have the
            engine.
        DataError: the content of the file is invalid, or does not fit the run's labels.
    """
    check_engine(engine)
    if is_ensemble(Path(run)):
        _no_task(run, name)
        ensemble, config = loaded_ensemble(Path(run), trust)
        _compute_members_in(engine, ensemble)
        records = _labelled(path, ensemble.task, config.data)
        predictions = to_predictions(ensemble.task, records, ensemble.answer(records))
        scores = ensemble_scores(ensemble.task, records, predictions)
        if not config.slices:
            return scores
        found = scores_of_predictions(config.slices, ensemble.task, records, predictions)
        return scores | {"slices": found}
    model, config = loaded_run(Path(run), trust, name)
    model.encoder.engine = engine
    records = _labelled(path, model.task, config.data)
    settings = config.training
    prepared = prepare(records, model.task, model.encoder, *settings.limits)
    return scores_on(model, records, prepared, settings.batch_size, config.slices)


def scores_on(
    model: AdaptedModel,
    records: list,
    prepared: PreparedData,
    batch_size: int,
    slices: Slices | None = None,
) -> dict[str, Any]:
    """Loss and metrics of a model, which is compiled for it, on records and what they became.

    With slices their scores are under `slices`.
    """
    task = model.task
    row = KINDS[task.kind]
    model.compile(loss=task.loss, metrics=task.metrics, jit_compile=False)
    scores: dict[str, Any] = row.evaluated_last(model, prepared, records, batch_size)
    if row.file_scores is None and not slices:
        return scores
    answer = batch_predictions(model, prepared, batch_size)
    predictions = to_predictions(task, records, answer)
    if row.file_scores is not None:
        scores |= row.file_scores(task, records, answer, predictions)
    if slices:
        scores["slices"] = scores_of_predictions(slices, task, records, predictions)
    return scores


def _no_task(folder: str | os.PathLike, name: str | None) -> None:
    if name is not None:
        raise ConfigError(f"{folder}: expected no task of an ensemble, which has one, got {name!r}")


def _compute_members_in(engine: str, ensemble: Ensemble) -> None:
    for member in ensemble.members:
        member.model.encoder.engine = engine


def predict_file(
    run_or_export: str | os.PathLike,
    path: str | os.PathLike,
    output: str | os.PathLike,
    with_input: bool = False,
    trust: bool = False,
    signature: str | None = None,
    name: str | None = None,
    engine: str = TENSORFLOW,
) -> int:
    """Predicts a file with a run, an ensemble or an export; returns the number of examples.

    The file is read in the format of the run's dataset, labels ignored; for a user's own tables the
    suffix .tsv, .csv or .jsonl selects the format. An export without a `data` section takes plain
    files: see `tf_adapt.config.reading.data_section`.

    Args:
        path: a file, or `-` for standard input.
        output: a file whose suffix selects the format, see
            `tf_adapt.serving.prediction.prediction_forms`, or `-` for standard output.
        with_input: write the texts before each prediction.
        trust: accept an export, or a run's module, that is a program from elsewhere: see
            `load_run`.
        signature: the task, of an export of several.
        name: the task, of a run of several: see `load_run`.
        engine: of the encoder: see `HubEncoder`.

    Raises:
        ArtifactError: the run or export is missing, damaged or not trusted, or `output` cannot be
            written.
        ConfigError: the encoder cannot have the engine; the run is a language model; `signature`
            is missing or not one of the export; `name` is not one of the run's tasks, or is given
            with an export; `output` is an input file, or its format cannot represent the
            predictions.
        DataError: the content of the file is invalid, or a text cannot be written in the format of
            `output`.
    """
    folder = Path(run_or_export)
    check_engine(engine)
    check_output(output, path, folder)
    read = functools.partial(_read_to_predict, path, output, with_input)
    if (folder / MANIFEST).is_file() or (folder / "saved_model.pb").is_file():
        if name is not None:
            raise ConfigError(
                f"{folder}: expected no --task for an export, got {name!r}; one of several tasks "
                "is chosen with --signature"
            )
        task, records, predictions = predict_with_export(folder, read, trust, signature, engine)
    else:
        if signature is not None:
            raise ConfigError(
                f"{folder}: expected no --signature for a run, got {signature!r}; leave it out (a "
                "run of several tasks has --task)"
            )
        if is_ensemble(folder):
            _no_task(folder, name)
            ensemble, config = loaded_ensemble(folder, trust)
            _compute_members_in(engine, ensemble)
            task, records = ensemble.task, read(ensemble.task, config.data)
            write_predictions(output, task, records, ensemble.predict(records, True), with_input)
            return len(records)
        model, config = loaded_run(folder, trust, name)
        refuse_language_model(model.task)
        model.encoder.engine = engine
        settings = config.training
        task, records = model.task, read(model.task, config.data)
        predictions = predict(
            model,
            records,
            settings.batch_size,
            settings.max_length,
            settings.truncate,
            progress=True,
            document_context=settings.document_context,
        )
    write_predictions(output, task, records, predictions, with_input)
    return len(records)


def export_run(
    run: str | os.PathLike,
    folder: str | os.PathLike,
    trust: bool = False,
    precision: str | None = None,
) -> Path:
    """Exports a run or an ensemble to the next numbered folder under `folder`; returns that folder.

    A run of several tasks becomes one SavedModel with a signature for each.

    Args:
        precision: "bfloat16" or "float16", in which the model of a run of one task computes; None:
            float32.

    Raises:
        ArtifactError: as `load_run`, `load_ensemble` and `export`.
        ConfigError: the run is a language model, or half precision is not for it.
    """
    if is_ensemble(Path(run)):
        if precision is not None:
            raise ConfigError(
                f"{run}: expected a run for an export in {precision}, got an ensemble; leave "
                "--precision out"
            )
        ensemble, config = loaded_ensemble(Path(run), trust)
        card = ensemble_card(read_ensemble(Path(run)))
        return ensemble.export(next_version(folder), _how_to_read(config), card)
    with compiled_model.precision(precision):
        served = _served_tasks(run, trust)
    if None not in served:
        return export_shared(served, next_version(folder))
    one = served[None]
    return export(
        one.model,
        next_version(folder),
        one.max_length,
        one.truncate,
        one.data,
        one.document_context,
        with_precision(run_card(Path(run)), precision),
    )


def export_runs(
    runs: Sequence[str | os.PathLike], folder: str | os.PathLike, trust: bool = False
) -> Path:
    """Exports runs on one encoder to the next numbered folder under `folder`; returns it.

    Args:
        runs: each a run folder, whose name is its signature's, or NAME=FOLDER.

    Raises:
        ArtifactError: as `load_run` and `export`.
        ConfigError: two runs have one name, or a run several tasks; or as `export_shared`.
    """
    tasks = {}
    for given in map(os.fspath, runs):
        name, _, path = given.rpartition("=") if not Path(given).is_dir() else ("", "", given)
        name = name or Path(path).resolve().name
        if name in tasks:
            raise ConfigError(
                f"{given}: expected another name than {name!r}, which names a signature already; "
                f"give one, as NAME={path}"
            )
        served = _served_tasks(path, trust)
        if None not in served:
            raise ConfigError(
                f"{given}: expected a run of one task, got one of {', '.join(served)}, which is "
                "exported alone, without --shared-encoder"
            )
        tasks[name] = served[None]
    return export_shared(tasks, next_version(folder))


def _served_tasks(run: str | os.PathLike, trust: bool) -> dict[str | None, ServedTask]:
    """What an export needs of each task of a run; of a run of one task by the name None."""
    return {name: _served_task(*found) for name, found in loaded_tasks(Path(run), trust).items()}


def _served_task(model: AdaptedModel, config: Config) -> ServedTask:
    """What an export needs of a run: how files are read, not where they were."""
    refuse_language_model(model.task)
    settings = config.training
    limits = settings.max_length, settings.truncate
    return ServedTask(model, *limits, _how_to_read(config), settings.document_context)


def _how_to_read(config: Config) -> dict[str, Any]:
    """The `data` section without the places of files."""
    places = {"data_dir": None, "train": "", "dev": "", "test": None}
    data = config.data.model_dump(mode="json")
    return {key: places.get(key, value) for key, value in data.items()}


def fisher_of_run(
    run: str | os.PathLike,
    output: str | os.PathLike,
    examples: int = 200,
    seed: int = 0,
    sampled: bool = True,
    trust: bool = False,
    previous: str | os.PathLike | None = None,
    gamma: float = 1.0,
) -> int:
    """Writes the Fisher information of a run's task for EWC; returns the number of examples used.

    It is estimated at the run's best weights, on the first examples of its training data.

    Args:
        previous: a file of this function, of the tasks before: see `accumulated_fisher`.
        gamma: weight of `previous`, from 0 to 1.

    Raises:
        ArtifactError: as `load_run`, `output` cannot be written, or `previous` is damaged.
        ConfigError: as `task_fisher` and `accumulated_fisher`, or `output` is a file of the run or
            of its data, or `previous`.
        DataError: the training data is missing or invalid.
    """
    check_output(output, run, *([] if previous is None else [previous]))
    before = None if previous is None else load_fisher(previous)
    model, config = loaded_run(Path(run), trust)
    check_output(output, config.encoder.handle, *_data_files(config))
    model.encoder.trainable = True
    if before is not None:
        check_fisher(before, pretrained_weights(model.encoder))
    records = load_splits(config.data, config.weak).examples["train"][:examples]
    prepared = prepare(records, model.task, model.encoder, *config.training.limits)
    batches = batches_from(prepared, 1, shuffle=False)
    shown = tracked(batches, "Fisher information", shown=True)
    found = task_fisher(model, shown, examples, seed, sampled)
    if before is not None:
        found = accumulated_fisher(found, before, gamma)
    save_fisher(output, found)
    return min(examples, int(batches.cardinality()))


def _data_files(config: Config) -> list[str]:
    """The files and the folder of a run's data."""
    found = [getattr(config.data, name) for name in config.data.PATHS]
    return [path for path in found if path]


def _labelled(path: str | os.PathLike, task: Task, data: Any) -> list:
    """The examples of a labelled file."""
    records = read_file(named_input(path), of_file(path, data))
    return KINDS[task.kind].as_in_task(records, data, task, str(path))


def of_file(path: str | os.PathLike, data: Any) -> Any:
    """The `data` section for reading one file.

    The suffix selects the format of tables, also for training data from TensorFlow Datasets. The
    group column is left out: only tests between cells use it.
    """
    if isinstance(data, TfdsConfig):
        columns = data.columns.model_dump()
        data = FilesConfig(format="tsv", kind=data.kind, train="", columns=Columns(**columns))
    if not isinstance(data, FilesConfig) or data.format not in TABLES:
        return data
    suffix = Path(path).suffix.lower().removeprefix(".")
    changed = {"columns": data.columns.model_copy(update={"group": None})}
    return data.model_copy(update=changed | ({"format": suffix} if suffix in TABLES else {}))


def _read_to_predict(
    path: str | os.PathLike, output: str | os.PathLike, with_input: bool, task: Task, data: Any
) -> list:
    """The examples of a file; checks first that their predictions can be written."""
    form = form_of(output, task)
    records = read_file(named_input(path), of_file(path, data), labelled=False)
    if with_input:
        check_texts(form, records)
    return records
