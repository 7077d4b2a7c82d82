"""Sets of labels in the graph: those that reach their thresholds."""

import tensorflow as tf

from tf_adapt.tasks.task import Task
from tf_adapt.tasks.thresholds import chosen


def named(answer: dict, task: Task, labels: tf.Tensor, texts: dict) -> dict:
    """The outputs of a signature: the names of chosen labels, "" for others; probabilities."""
    scores = answer["probabilities"]
    return {"labels": tf.where(chosen(scores, task.thresholds), labels, ""), "scores": scores}
