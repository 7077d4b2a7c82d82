"""A part of the second text for each example: how it is searched for."""

from typing import TYPE_CHECKING

from tf_adapt.tasks.span_search import SpanSearch

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task


def checked_spans(task: "Task", name: str) -> SpanSearch:
    """How answers are searched for: `Task.spans`, or the defaults of `SpanSearch`.

    Raises:
        ConfigError: as `SpanSearch`, of the values of `Task.get_config`.
    """
    if task.spans is None or isinstance(task.spans, SpanSearch):
        return task.spans or SpanSearch()
    return SpanSearch(**task.spans)
