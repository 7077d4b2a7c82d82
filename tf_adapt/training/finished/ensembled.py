"""Scores and predicts a file with an ensemble."""

import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tf_adapt.errors import ConfigError
from tf_adapt.serving.prediction.ensemble import Ensemble, scores
from tf_adapt.serving.prediction.predict import to_predictions
from tf_adapt.serving.prediction.rows import predictions_of_rows
from tf_adapt.tasks.task import Task
from tf_adapt.training.ensembles.load_ensemble import loaded_ensemble
from tf_adapt.training.finished.data_files import examples_to_predict, labelled_examples
from tf_adapt.training.results.quality import quality, write_answers
from tf_adapt.training.results.slices import scores_of_predictions


def evaluate_ensemble(
    folder: Path,
    path: str | os.PathLike,
    trust: bool,
    name: str | None,
    engine: str,
    out: str | os.PathLike | None,
) -> dict[str, Any]:
    """As `tf_adapt.training.finished.trained_run.evaluate_file`."""
    ensemble, data, slices = _loaded(folder, trust, name, engine)
    task, records = ensemble.task, labelled_examples(path, ensemble.task, data)
    predictions = to_predictions(task, records, ensemble.answer(records))
    if out is not None:
        write_answers(out, task, records, predictions)
    reached = scores(task, records, predictions) | quality(task, records, predictions)
    if slices:
        reached["slices"] = scores_of_predictions(slices, task, records, predictions)
    return reached


def predictions_of_ensemble(
    folder: Path, given: tuple, trust: bool, name: str | None, engine: str
) -> tuple[Task, Sequence, Iterator]:
    """The task of an ensemble, the examples of a file and their predictions.

    Args:
        given: see `examples_to_predict`.
        trust, name, engine: as for `tf_adapt.training.finished.trained_run.predict_file`.
    """
    ensemble, data, _ = _loaded(folder, trust, name, engine)
    records = examples_to_predict(*given, ensemble.task, data)
    predict = functools.partial(ensemble.predict, progress=True)
    together = any(member.limits[2] for member in ensemble.members)
    return ensemble.task, records, predictions_of_rows(records, predict, together)


def _loaded(folder: Path, trust: bool, name: str | None, engine: str) -> tuple[Ensemble, Any, Any]:
    """An ensemble whose encoders an engine computes, how its files are read, and its slices."""
    if name is not None:
        raise ConfigError(f"{folder}: expected no task of an ensemble, which has one, got {name!r}")
    ensemble, reading = loaded_ensemble(folder, trust)
    for member in ensemble.members:
        member.model.encoder.engine = engine
    return ensemble, reading.data, reading.slices
