"""Scores and predicts a file with an export. Imports no TensorFlow, but for a SavedModel."""

import os
from pathlib import Path
from typing import Any

from hub_modules.engines.names import TENSORFLOW, check_engine
from tf_adapt.errors import ConfigError
from tf_adapt.serving.prediction.kinds import KINDS
from tf_adapt.serving.prediction.output_files import check_output
from tf_adapt.serving.prediction.prediction_forms import write_predictions
from tf_adapt.serving.prediction.rows import predictions_of_rows
from tf_adapt.serving.prediction.served_predictions import exported_task, predictor
from tf_adapt.training.finished.data_files import (
    examples_to_predict,
    labelled_examples,
    section_of_export,
)
from tf_adapt.training.results.quality import quality, write_answers


def evaluate_export(
    folder: str | os.PathLike,
    path: str | os.PathLike,
    trust: bool = False,
    name: str | None = None,
    engine: str = TENSORFLOW,
    out: str | os.PathLike | None = None,
    signature: str | None = None,
) -> dict[str, Any]:
    """The metrics of an export on a labelled file, or on standard input if `path` is `-`.

    They are those of `evaluate_file` of the run, without the loss and slices, and without
    the probability of right texts.

    Args:
        trust, name, engine, signature: as for `predict_export`.
        out: a folder for the files of `write_answer_files`.

    Raises:
        ArtifactError, ConfigError: as `predict_export`.
        DataError: the content of the file is invalid, or the export refuses an example.
    """
    _refuse_task(folder, name)
    check_engine(engine)
    exported = exported_task(Path(folder), signature)
    task = exported.task
    data = section_of_export(exported.data, task.kind, exported.where, labelled=True)
    records = labelled_examples(path, task, data)
    predictions = predictor(exported, trust, engine)(records)
    if out is not None:
        write_answers(out, task, records, predictions)
    scores = KINDS[task.kind].scores(task, records, predictions)
    return scores | quality(task, records, predictions)


def predict_export(
    folder: str | os.PathLike,
    path: str | os.PathLike,
    output: str | os.PathLike,
    with_input: bool = False,
    trust: bool = False,
    signature: str | None = None,
    name: str | None = None,
    engine: str = TENSORFLOW,
    form: str | None = None,
) -> int:
    """Predicts a file with an export; returns the number of examples.

    An export without a `data` section takes plain files: see
    `tf_adapt.config.reading.data_section`.

    Args:
        path, output, with_input, form: as for `predict_file`.
        trust: accept a program from elsewhere.
        signature: the task, of an export of several.
        name: None: an export has signatures in place of a run's tasks.
        engine: of a SavedModel's encoder: see `HubEncoder`.

    Raises:
        ArtifactError: the export is damaged or not trusted, or `output` cannot be written.
        ConfigError: the engine cannot compute it; `signature` is missing or not one of the export;
            a `name` is given; `output` is an input file, or its format cannot represent the
            predictions.
        DataError: the content of the file is invalid, the export refuses an example, or a text
            cannot be written in the format of `output`.
    """
    _refuse_task(folder, name)
    check_engine(engine)
    check_output(output, path, folder)
    named = output if form is None else f"{output}.{form}"
    exported = exported_task(Path(folder), signature)
    task = exported.task
    data = section_of_export(exported.data, task.kind, exported.where)
    records = examples_to_predict(path, named, with_input, task, data)
    predictions = predictions_of_rows(records, predictor(exported, trust, engine))
    write_predictions(output, task, records, predictions, with_input, named)
    return len(records)


def _refuse_task(folder: str | os.PathLike, name: str | None) -> None:
    if name is not None:
        raise ConfigError(
            f"{folder}: expected no --task for an export, got {name!r}; one of several tasks is "
            "chosen with --signature"
        )
