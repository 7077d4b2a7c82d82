"""How answers are looked for in a run's data: the section `data.spans` of its config."""

from typing import Any

from tf_adapt.data.formats import Record
from tf_adapt.tasks.span_search import SpanSearch


def span_search(data: Any, train: list[Record]) -> SpanSearch:
    """The `spans` of a config's `data` section.

    Without a threshold it is 0 if a question of train has no answer.
    """
    given = {} if data.spans is None else data.spans.model_dump()
    if given.get("no_answer_threshold") is None:
        answered = all(example.label.texts for example in train)
        given["no_answer_threshold"] = None if answered else 0.0
    return SpanSearch(**given)
