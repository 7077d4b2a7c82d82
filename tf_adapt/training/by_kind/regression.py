"""Regression, of a text or of a pair."""

from dataclasses import replace

import numpy as np

from tf_adapt.data.formats import Record
from tf_adapt.tasks.task import Task
from tf_adapt.training.by_kind.classification import Answer


def scores(answer: Answer) -> np.ndarray:
    """The scores of an ensemble's answer."""
    return answer["score"]


def with_lowest_score(record: Record, task: Task) -> Record:
    """An unlabelled text with a placeholder score, which is not used."""
    return replace(record, label=0.0 if task.label_range is None else task.label_range[0])
