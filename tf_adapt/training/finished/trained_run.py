"""Scores and predicts a file with a trained run, an ensemble or an export."""

import os
from pathlib import Path
from typing import Any

from hub_modules.engines.names import TENSORFLOW, check_engine
from tf_adapt.data.batches import prepare
from tf_adapt.errors import ConfigError
from tf_adapt.models.kinds import refuse_language_model
from tf_adapt.runs.ensemble_folder import is_ensemble
from tf_adapt.serving.prediction.output_files import check_output
from tf_adapt.serving.prediction.predict import predict
from tf_adapt.serving.prediction.prediction_forms import write_predictions
from tf_adapt.serving.prediction.rows import predictions_of_rows
from tf_adapt.serving.reading.opened import is_export
from tf_adapt.training.finished.data_files import examples_to_predict, labelled_examples
from tf_adapt.training.finished.ensembled import evaluate_ensemble, predictions_of_ensemble
from tf_adapt.training.finished.exported import evaluate_export, predict_export
from tf_adapt.training.finished.load_run import loaded_run
from tf_adapt.training.results.model_scores import described_scores
from tf_adapt.training.results.quality import write_answers


def evaluate_file(
    run: str | os.PathLike,
    path: str | os.PathLike,
    trust: bool = False,
    name: str | None = None,
    engine: str = TENSORFLOW,
    out: str | os.PathLike | None = None,
    signature: str | None = None,
) -> dict[str, Any]:
    """Loss and metrics of a run on a labelled file, or on standard input if `path` is `-`.

    The file is read as in `predict_file`, but with labels. With slices in the run's config, of an
    ensemble in that of its first member, their scores are under `slices`; an export has none. The
    scores of each label are under `labels`, how well probabilities fit under `calibration`. Neither
    an ensemble nor an export has a loss.

    Args:
        trust, name: see `load_run`.
        engine: of the encoder: see `HubEncoder`.
        out: a folder for the files of `write_answer_files`.
        signature: the task, of an export of several.

    Raises:
        ArtifactError, ConfigError: as `load_run`, `load_ensemble`; the encoder cannot have the
            engine; a file cannot be written; a language model has no answers to write.
        DataError: the content of the file is invalid, or does not fit the run's labels.
    """
    if is_export(Path(run)):
        return evaluate_export(run, path, trust, name, engine, out, signature)
    check_engine(engine)
    _refuse_signature(run, signature)
    if is_ensemble(Path(run)):
        return evaluate_ensemble(Path(run), path, trust, name, engine, out)
    model, reading = loaded_run(Path(run), trust, name)
    if out is not None:
        refuse_language_model(model.task)
    model.encoder.engine = engine
    records = labelled_examples(path, model.task, reading.data)
    prepared = prepare(records, model.task, model.encoder, *reading.limits)
    size = reading.batch_size
    scores, predictions = described_scores(model, records, prepared, size, reading.slices)
    if out is not None:
        write_answers(out, model.task, records, predictions)
    return scores


def _refuse_signature(folder: str | os.PathLike, signature: str | None) -> None:
    if signature is not None:
        raise ConfigError(
            f"{folder}: expected no --signature for a run, got {signature!r}; leave it out (a "
            "run of several tasks has --task)"
        )


def predict_file(
    run_or_export: str | os.PathLike,
    path: str | os.PathLike,
    output: str | os.PathLike,
    with_input: bool = False,
    trust: bool = False,
    signature: str | None = None,
    name: str | None = None,
    engine: str = TENSORFLOW,
    form: str | None = None,
) -> int:
    """Predicts a file with a run, an ensemble or an export; returns the number of examples.

    The file is read in the format of the run's dataset, labels ignored; for a user's own tables the
    suffix .tsv, .csv or .jsonl selects the format. An export without a `data` section takes plain
    files: see `tf_adapt.config.reading.data_section`.

    Args:
        path: a file, or `-` for standard input.
        output: a file whose suffix selects the format, see
            `tf_adapt.serving.prediction.prediction_forms`, or `-` for standard output.
        with_input: write all columns of the input before each prediction; those of ids are written
            in any case.
        trust: accept an export, or a run's module, that is a program from elsewhere: see
            `load_run`.
        signature: the task, of an export of several.
        name: the task, of a run of several: see `load_run`.
        engine: of the encoder: see `HubEncoder`.
        form: tsv, csv or jsonl, in place of the suffix of `output`.

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
    if is_export(folder):
        return predict_export(
            folder, path, output, with_input, trust, signature, name, engine, form
        )
    check_engine(engine)
    check_output(output, path, folder)
    named = output if form is None else f"{output}.{form}"
    given = path, named, with_input
    _refuse_signature(folder, signature)
    if is_ensemble(folder):
        of_ensemble = predictions_of_ensemble(folder, given, trust, name, engine)
        task, records, predictions = of_ensemble
    else:
        model, reading = loaded_run(folder, trust, name)
        refuse_language_model(model.task)
        model.encoder.engine = engine
        task, records = model.task, examples_to_predict(*given, model.task, reading.data)
        size, (length, truncate, context) = reading.batch_size, reading.limits
        predictions = predictions_of_rows(
            records,
            lambda rows: predict(model, rows, size, length, truncate, True, context),
            together=context,
        )
    write_predictions(output, task, records, predictions, with_input, named)
    return len(records)
