"""Answers to questions, from the predictions for windows of contexts."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tf_adapt.data.formats import Record
from tf_adapt.serving.prediction.prediction import FoundAnswer
from tf_adapt.tasks.answer_scores import ANSWER_METRICS, best_no_answer_threshold
from tf_adapt.tasks.best_spans import NONE, best_answers
from tf_adapt.tasks.span_search import SpanSearch
from tf_adapt.tasks.task import Task


def answers_of_questions(
    records: Sequence[Record], windows: dict[str, np.ndarray], search: SpanSearch
) -> list[tuple[FoundAnswer, ...]]:
    """The best answers to each question, the predicted one first, at most `search.n_best`.

    With a threshold, no answer is one of them, where its score puts it.

    Args:
        windows: of `batch_predictions`; `record_of` is the number of each row's question.
    """
    best = _by_question(records, windows, search)
    return [
        _sorted(record, {name: values[number] for name, values in best.items()}, search)
        for number, record in enumerate(records)
    ]


def chosen_no_answer_threshold(
    task: Task, records: Sequence[Record], windows: dict[str, np.ndarray]
) -> float:
    """The threshold with the best score of the task's metric on these questions."""
    best = _by_question(records, windows, task.spans)
    score = ANSWER_METRICS[task.metric]
    texts = [
        record.text_b[start:end]
        for record, start, end in zip(records, best["start"][:, 0], best["end"][:, 0], strict=True)
    ]
    gold = [record.label.texts for record in records]
    scores = [score(*pair) for pair in zip(texts, gold, strict=True)]
    unanswerable = [score("", answers) for answers in gold]
    return best_no_answer_threshold(best["margin"].tolist(), scores, unanswerable)


def _by_question(
    records: Sequence[Record], windows: dict[str, np.ndarray], search: SpanSearch
) -> dict[str, np.ndarray]:
    rows = {name: tf.constant(values) for name, values in windows.items() if name != "record_of"}
    counts = np.bincount(windows["record_of"], minlength=len(records))
    splits = tf.constant(np.concatenate([[0], np.cumsum(counts)]))
    return {name: values.numpy() for name, values in best_answers(rows, splits, search).items()}


def _sorted(record: Record, best: dict, search: SpanSearch) -> tuple[FoundAnswer, ...]:
    spans = [
        FoundAnswer(record.text_b[start:end], float(probability), int(start), int(end))
        for start, end, probability in zip(
            best["start"], best["end"], best["probability"], strict=True
        )
        if start != NONE
    ]
    if spans and search.no_answer_threshold is None:
        return tuple(spans)
    none = FoundAnswer("", float(best["none"]), NONE, NONE)
    if best["is_none"] or not spans:
        return (none, *spans)[: search.n_best]
    rest = sorted([none, *spans[1:]], key=lambda answer: -answer.score)
    return (spans[0], *rest)[: search.n_best]
