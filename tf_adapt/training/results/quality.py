"""How good predictions are beyond their scores; the files of a model's answers. No TensorFlow."""

import os
from pathlib import Path
from typing import Any

from tf_adapt.data.gold_answers import gold_answers, label_scores
from tf_adapt.runs.answer_files import write_answer_files
from tf_adapt.runs.kinds import KINDS as RUNS
from tf_adapt.serving.prediction.kinds import KINDS
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.statistics.calibration import calibration
from tf_adapt.tasks.task import Task


def quality(task: Task, records: list, predictions: list[Prediction]) -> dict[str, Any]:
    """`labels`, see `label_scores`, and `calibration`, see the function of this name; nothing for a
    kind of task without labels."""
    gold = gold_answers(records, task.kind)
    predicted = [prediction.label for prediction in predictions]
    of_labels = label_scores(predicted, gold, task.kind, task.scheme)
    certainties = KINDS[task.kind].certainties
    certain = [
        pair
        for prediction, label in zip(predictions, gold, strict=True)
        for pair in certainties(task.labels, prediction, label)
    ]
    found = {"labels": of_labels} if of_labels else {}
    return found | ({"calibration": calibration(*zip(*certain, strict=True))} if certain else {})


def write_answers(
    folder: str | os.PathLike, task: Task, records: list, predictions: list[Prediction]
) -> None:
    """Writes the files of `write_answer_files` for one model."""
    answers = [RUNS[task.kind].label(prediction) for prediction in predictions]
    of_model = answers, [prediction.scores for prediction in predictions]
    write_answer_files(Path(folder), task.kind, records, [of_model], task.labels, task.scheme)
