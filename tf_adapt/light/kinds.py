"""Kinds of task → what a light export does with texts and logits. No TensorFlow."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tf_adapt.errors import ConfigError
from tf_adapt.light.answer_spans import Context, best_answer, best_spans
from tf_adapt.light.chains import best_path, marginals
from tf_adapt.light.columns import Columns
from tf_adapt.light.engine import LightEngine
from tf_adapt.light.layout import Answers, Chain
from tf_adapt.light.rows import check_length, fitted_words
from tf_adapt.tasks.task import Task
from tf_adapt.tasks.thresholds import chosen

# Shares of votes that differ by less are equal: they are sums of rounded numbers.
_TIED = 1e-6
# Below it a probability has no logarithm in float32.
_SMALLEST = float(np.finfo("float32").tiny)

Answer = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A kind of task.

    Args:
        inputs: of the signature: rank by name.
        answer: a model, the task, the columns of its inputs → its answer.
        combined: answers of several models, how they are combined, the task → one.
        named: an answer, the task, the columns → the outputs of the signature.
    """

    inputs: Mapping[str, int]
    answer: Callable[[LightEngine, Task, Columns], Answer]
    combined: Callable[[list[Answer], Answers, Task], Answer]
    named: Callable[[Answer, Task, Columns], Answer]


def _labels(engine: LightEngine, task: Task, columns: Columns) -> Answer:
    return _of_logits(engine.text_logits(list(columns.values())), task)


def _of_logits(logits: np.ndarray, task: Task) -> Answer:
    scaled = logits / np.float32(task.temperature or 1.0)
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    probabilities = powers / powers.sum(axis=-1, keepdims=True)
    return {"label": logits.argmax(axis=-1), "probabilities": probabilities}


def _sets(engine: LightEngine, task: Task, columns: Columns) -> Answer:
    logits = engine.text_logits(list(columns.values())) / np.float32(task.temperature or 1.0)
    # Of −|x|, whose power is no overflow.
    power = np.exp(-np.abs(logits))
    return {"probabilities": np.where(logits < 0, power, 1) / (1 + power)}


def _numbers(engine: LightEngine, task: Task, columns: Columns) -> Answer:
    return {"score": engine.text_logits(list(columns.values()))}


def _tags(engine: LightEngine, task: Task, columns: Columns) -> Answer:
    """The words of all sentences, one behind the other; parts are decoded by themselves."""
    sentences = _sentences(columns)
    chain = engine.settings.chain
    parts = [part for sentence in engine.word_logits(sentences) for part in sentence]
    logits = np.concatenate([np.zeros([0, len(task.labels)], "float32"), *parts])
    answer = {"lengths": list(map(len, sentences))}
    if chain is None:
        return answer | _of_logits(logits, task)
    return answer | _decoded(parts, chain, logits)


def _decoded(parts: Sequence[np.ndarray], chain: Chain, logits: np.ndarray) -> Answer:
    empty = logits[:0]
    return {
        "label": np.concatenate([np.zeros(0, "int32"), *(best_path(p, chain) for p in parts)]),
        "probabilities": np.concatenate([empty, *(marginals(p, chain) for p in parts)]),
        "logits": logits,
    }


def _sentences(columns: Columns) -> list[Sequence[str]]:
    """Without the padding, which is at the end of a row."""
    ends = [
        max((place for place, word in enumerate(row, start=1) if word), default=0)
        for row in columns["tokens"]
    ]
    return [row[:end] for row, end in zip(columns["tokens"], ends, strict=True)]


def _spans(engine: LightEngine, task: Task, columns: Columns) -> Answer:
    search = task.spans
    contexts = [
        _context(engine, search.stride, *texts)
        for texts in zip(columns["question"], columns["context"], strict=True)
    ]
    budget = engine.budget(2)
    windows = [context.windows(budget, search.stride) for context in contexts]
    flat = [window for of_context in windows for window in of_context]
    rows = [{"a": w.segments, "places": (w.first_token, w.last_token)} for w in flat]
    logits = engine.in_batches(rows)
    best = iter([best_spans(*pair, search) for pair in zip(logits, flat, strict=True)])
    found = [best_answer([next(best) for _ in of_context], search) for of_context in windows]
    return dict(zip(("score", "start", "end"), zip(*found, strict=True), strict=True))


def _context(engine: LightEngine, stride: int, question: str, context: str) -> Context:
    room = engine.budget(2) - stride
    may_cut = engine.settings.truncate
    asked = [
        token
        for word in engine.reader.words([word for word, *_ in engine.answer_words(question)])
        for token in word
    ]
    if not may_cut:
        check_length([len(asked)], room, "a question")
    words = engine.answer_words(context)
    tokens = fitted_words(engine.reader.words([word for word, *_ in words]), stride, may_cut)
    first, end = (np.array([word[place] for word in words], int) for place in (1, 2))
    return Context(asked[:room], tokens, first, end)


def _mean_labels(answers: list[Answer], settings: Answers, task: Task) -> Answer:
    probabilities = _mean([answer["probabilities"] for answer in answers], settings)
    if not settings.votes:
        return {"label": probabilities.argmax(axis=-1), "probabilities": probabilities}
    ones = np.eye(len(task.labels), dtype="float32")
    shares = _mean([ones[answer["label"]] for answer in answers], settings)
    most = shares >= shares.max(axis=-1, keepdims=True) - _TIED
    label = np.where(most, probabilities, -1.0).argmax(axis=-1)
    return {"label": label, "probabilities": shares}


def _mean_probabilities(answers: list[Answer], settings: Answers, task: Task) -> Answer:
    return {"probabilities": _mean([answer["probabilities"] for answer in answers], settings)}


def _mean_numbers(answers: list[Answer], settings: Answers, task: Task) -> Answer:
    return {"score": _mean([answer["score"] for answer in answers], settings)}


def _mean_tags(answers: list[Answer], settings: Answers, task: Task) -> Answer:
    """With a CRF one path for a whole sentence: see `tf_adapt.models.combination`."""
    lengths = answers[0]["lengths"]
    if settings.chain is None:
        return _mean_labels(answers, settings, task) | {"lengths": lengths}
    logits = _mean([_logits(answer) for answer in answers], settings)
    sentences = np.split(logits, np.cumsum(lengths)[:-1])
    return _decoded(sentences, settings.chain, logits) | {"lengths": lengths}


def _logits(answer: Answer) -> np.ndarray:
    if "logits" in answer:
        return answer["logits"]
    return np.log(np.maximum(answer["probabilities"], _SMALLEST))


def _mean(values: list[np.ndarray], settings: Answers) -> np.ndarray:
    weighted = zip(settings.weights, values, strict=True)
    return np.sum([np.float32(weight) * array for weight, array in weighted], axis=0)


def _one(answers: list[Answer], settings: Answers, task: Task) -> Answer:
    """Answers to questions are those of one model."""
    (answer,) = answers
    return answer


def _named_labels(answer: Answer, task: Task, columns: Columns) -> Answer:
    names = [task.labels[label] for label in answer["label"]]
    return {"label": names, "scores": answer["probabilities"]}


def _named_sets(answer: Answer, task: Task, columns: Columns) -> Answer:
    scores = answer["probabilities"]
    chosen_labels = np.where(chosen(scores, task.thresholds), np.array(task.labels, object), "")
    return {"labels": chosen_labels.tolist(), "scores": scores}


def _named_numbers(answer: Answer, task: Task, columns: Columns) -> Answer:
    return answer


def _named_tags(answer: Answer, task: Task, columns: Columns) -> Answer:
    rows = columns["tokens"]
    width = max(map(len, rows), default=0)
    tags = [[""] * width for _ in rows]
    scores = np.zeros([len(rows), width, len(task.labels)], "float32")
    start = 0
    for number, length in enumerate(answer["lengths"]):
        words = slice(start, start + length)
        tags[number][:length] = [task.labels[label] for label in answer["label"][words]]
        scores[number, :length] = answer["probabilities"][words]
        start += length
    return {"tags": tags, "scores": scores}


def _named_spans(answer: Answer, task: Task, columns: Columns) -> Answer:
    places = zip(columns["context"], answer["start"], answer["end"], strict=True)
    texts = [context[start:end] if start >= 0 else "" for context, start, end in places]
    return {
        "answer": texts,
        "score": np.array(answer["score"], "float32"),
        "start": np.array(answer["start"], "int32"),
        "end": np.array(answer["end"], "int32"),
    }


def _refused(*arguments: Any) -> Answer:
    raise ConfigError(
        "expected another kind than dialog and text_generation, which are exported as SavedModels"
    )


_TEXT, _PAIR = {"text": 1}, {"text_a": 1, "text_b": 1}
_LABEL = Row(_TEXT, _labels, _mean_labels, _named_labels)
_NUMBER = Row(_TEXT, _numbers, _mean_numbers, _named_numbers)
KINDS = {
    "classification": _LABEL,
    "multilabel_classification": Row(_TEXT, _sets, _mean_probabilities, _named_sets),
    "regression": _NUMBER,
    "pair_classification": replace(_LABEL, inputs=_PAIR),
    "pair_regression": replace(_NUMBER, inputs=_PAIR),
    "tagging": Row({"tokens": 2}, _tags, _mean_tags, _named_tags),
    "span_extraction": Row({"question": 1, "context": 1}, _spans, _one, _named_spans),
    "dialog": Row({"persona": 2, "history": 2}, _refused, _refused, _refused),
    "text_generation": Row(_TEXT, _refused, _refused, _refused),
}
