"""The replies of a dialogue. Imports no TensorFlow."""

import numpy as np

from tf_adapt.data.formats.dialogues import Exchange
from tf_adapt.serving.by_kind.classification import Answer, Columns, Outputs
from tf_adapt.serving.by_kind.written_texts import are_known, variety, written
from tf_adapt.serving.by_kind.written_texts import served as served_texts
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.answer_scores import answer_f1
from tf_adapt.tasks.by_kind.dialog import DISTRACTORS
from tf_adapt.tasks.task import Task


def predictions(task: Task, records: list[Exchange], answer: Answer) -> list[Prediction]:
    """The reply of each exchange; of a right one its `log p`, and whether it was chosen of four."""
    scores = [-answer["loss"], hits(answer["choices"])] if are_known(answer) else []
    return written(answer["reply"], *scores)


def hits(choices: np.ndarray) -> np.ndarray:
    """Whether the right reply, the first, has the highest score of those of training, `[examples]
    int`."""
    return (np.argmax(choices[:, : 1 + DISTRACTORS], axis=1) == 0).astype(int)


def columns(records: list[Exchange]) -> Columns:
    """The inputs of a signature of dialogues: texts, padded at their ends."""
    return {
        name: padded([list(getattr(record, name)) for record in records])
        for name in ("persona", "history")
    }


def padded(rows: list[list[str]]) -> list[list[str]]:
    """Rows of one length: `""` is no text."""
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]


def served(task: Task, records: list, outputs: Outputs) -> Answer:
    """The answer of an export."""
    return {"reply": served_texts(outputs["reply"])}


def reply_scores(
    task: Task, records: list[Exchange], predictions: list[Prediction]
) -> dict[str, float]:
    """F1 of the replies, and how varied they are."""
    replies = [prediction.label for prediction in predictions]
    pairs = zip(replies, records, strict=True)
    scores = [answer_f1(reply, (record.reply,)) for reply, record in pairs]
    return {"f1": sum(scores) / len(scores), **variety(replies, "equal_replies")}
