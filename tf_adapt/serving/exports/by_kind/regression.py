"""Numbers in the graph."""

from tf_adapt.tasks.task import Task


def named(answer: dict, task: Task, labels: None, texts: dict) -> dict:
    """The outputs of a signature: the numbers."""
    return answer
