"""Kinds of task → their answers in files, in the server's JSON and on cards. No TensorFlow."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tf_adapt.tasks.label_sets import joined

SENTENCE = "The ferry from Oslo reached Copenhagen on Monday , and Ada Lind waited at the pier ."
# The further signature of what writes texts, and its settings, each one value a call.
GENERATE = "generate"
SETTINGS = {"max_new_tokens": int, "temperature": float, "seed": int}
_COLUMNS = ("text_a", "text_b", "prediction")
_BREAKS = re.compile("[\t\n\r]+")


def on_one_line(text: str) -> str:
    """A text with blanks for tabs and line breaks."""
    return _BREAKS.sub(" ", text)


def _label_columns(labels: Sequence[str] | None) -> list[str]:
    """The labels; one that another column is called by gets `score_` before it."""
    columns = []
    for label in labels or ():
        name = label
        while name in _COLUMNS or (name != label and name in labels):
            name = f"score_{name}"
        columns.append(name)
    return columns


def _answer_columns(labels: None) -> list[str]:
    return ["score", "start", "end"]


def _label_fields(prediction: Any) -> list[str]:
    return [prediction.label, *_decimals(prediction.scores)]


def _number_fields(prediction: Any) -> list[str]:
    return _decimals([prediction.label])


def _set_fields(prediction: Any) -> list[str]:
    return [joined(prediction.label), *_decimals(prediction.scores)]


def _answer_fields(prediction: Any) -> list[str]:
    best = prediction.answers[0]
    # Scores of answers do not depend on their white space, a line of a table does.
    return [on_one_line(best.text), *_decimals(prediction.scores), str(best.start), str(best.end)]


def _decimals(scores: Sequence[float]) -> list[str]:
    return [f"{score:.6f}" for score in scores]


def _label_object(record: Any, prediction: Any, labels: Sequence[str]) -> dict[str, Any]:
    scores = [round(score, 6) for score in prediction.scores]
    return {"prediction": prediction.label, "scores": dict(zip(labels, scores, strict=True))}


def _set_object(record: Any, prediction: Any, labels: Sequence[str]) -> dict[str, Any]:
    return _label_object(record, prediction, labels) | {"prediction": list(prediction.label)}


def _number_object(record: Any, prediction: Any, labels: None) -> dict[str, Any]:
    return {"prediction": round(prediction.label, 6)}


def _tags_object(record: Any, prediction: Any, labels: Sequence[str]) -> dict[str, Any]:
    scores = [round(score, 6) for score in prediction.scores]
    return {"words": list(record.words), "tags": list(prediction.label), "scores": scores}


def _answers_object(record: Any, prediction: Any, labels: None) -> dict[str, Any]:
    answers = [asdict(answer) | {"score": round(answer.score, 6)} for answer in prediction.answers]
    best = {name: answers[0][name] for name in ("score", "start", "end")}
    return {"prediction": prediction.label} | best | {"answers": answers}


@dataclass(frozen=True)
class Row:
    """The answers of a kind of task.

    Args:
        inputs: of a signature: rank by name, see `tf_adapt.serving.server.request_json`.
        outputs: the number of labels → the shape of each output for one row, of one word.
        methods: of the server, beside `:predict`.
        call: the inputs of a first call, in Python, and an example for the page (`sample`).
        sample: of each input.
        out: what comes out, in a word.
        no_labels: what the answer is where a task has no labels.
        settings: of the signature `generate`, by name; none: there is no such signature.
        texts: of a record, which a file of predictions may hold before them.
        columns: the labels → of a table, after the prediction.
        own_columns: of a run's own table, behind them: the scores.
        fields: a prediction → of a line of a table.
        object: record, prediction, labels → a line of JSON.
    """

    inputs: Mapping[str, int]
    outputs: Callable[[int], dict[str, tuple[int, ...]]]
    methods: tuple[str, ...]
    call: str
    sample: Mapping[str, str]
    out: str = "answers"
    no_labels: str = ""
    settings: Mapping[str, type] = field(default_factory=dict)
    texts: tuple[str, ...] = ("text_a",)
    columns: Callable[[Sequence[str] | None], list[str]] = _label_columns
    own_columns: tuple[str, ...] = ()
    fields: Callable[[Any], list[str]] = _label_fields
    object: Callable[[Any, Any, Any], dict[str, Any]] = _label_object


_LABEL = Row(
    {"text": 1},
    lambda labels: {"label": (1,), "scores": (1, labels)},
    ("classify",),
    'text=tf.constant(["a text"])',
    {"text": "The rooms were clean and quiet, but breakfast was a little plain."},
)
_NUMBER = replace(
    _LABEL,
    outputs=lambda labels: {"score": (1,)},
    methods=("regress",),
    no_labels="A number.",
    fields=_number_fields,
    object=_number_object,
)
_PAIR = {
    "inputs": {"text_a": 1, "text_b": 1},
    "call": 'text_a=tf.constant(["one text"]), text_b=tf.constant(["another"])',
    "sample": {
        "text_a": "A man is playing a guitar on a small stage.",
        "text_b": "Someone makes music in front of an audience.",
    },
    "texts": ("text_a", "text_b"),
}
KINDS = {
    "classification": _LABEL,
    "multilabel_classification": replace(
        _LABEL,
        outputs=lambda labels: {"labels": (1, labels), "scores": (1, labels)},
        fields=_set_fields,
        object=_set_object,
    ),
    "regression": _NUMBER,
    "pair_classification": replace(_LABEL, **_PAIR),
    "pair_regression": replace(_NUMBER, **_PAIR),
    "tagging": Row(
        {"tokens": 2},
        lambda labels: {"tags": (1, 1), "scores": (1, 1, labels)},
        (),
        'tokens=tf.constant([["Ann", "lives", "in", "Paris"]])',
        {"tokens": SENTENCE},
        out="tags",
        texts=(),
        object=_tags_object,
    ),
    "span_extraction": Row(
        {"question": 1, "context": 1},
        lambda labels: dict.fromkeys(("answer", "score", "start", "end"), (1,)),
        (),
        'question=tf.constant(["Where does Ann live?"]), '
        'context=tf.constant(["Ann lives in Paris."])',
        {"question": "Who waited at the pier?", "context": SENTENCE},
        no_labels="A part of the context, with its offsets in characters.",
        texts=("text_a", "text_b"),
        columns=_answer_columns,
        fields=_answer_fields,
        object=_answers_object,
    ),
    "text_generation": Row(
        {"text": 1},
        lambda labels: {"text": (1,)},
        (),
        'text=tf.constant(["a text"])',
        {"text": f"the pier\n{SENTENCE}"},
        out="texts",
        settings=SETTINGS,
        columns=lambda labels: [],
        own_columns=("log_probability",),
        fields=lambda prediction: [on_one_line(prediction.label)],
        object=lambda record, prediction, labels: {"prediction": prediction.label},
    ),
    "dialog": Row(
        {"persona": 2, "history": 2},
        lambda labels: {"reply": (1,)},
        (),
        'persona=tf.constant([["i keep bees ."]]), history=tf.constant([["who are you ?"]])',
        {
            "persona": "i keep bees .\ni live by the sea .\ni have two dogs .",
            "history": "hello , what do you do for fun ?",
        },
        out="replies",
        settings=SETTINGS,
        texts=("shown",),
        columns=lambda labels: [],
        own_columns=("log_probability", "hit"),
        fields=lambda prediction: [on_one_line(prediction.label)],
        object=lambda record, prediction, labels: {"prediction": prediction.label},
    ),
}
