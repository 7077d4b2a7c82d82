"""The replies of a dialogue. Imports no TensorFlow."""

from collections.abc import Sequence

from tf_adapt.data.formats.dialogues import Exchange
from tf_adapt.errors import ConfigError
from tf_adapt.serving.by_kind.classification import Answer
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.answer_scores import answer_f1
from tf_adapt.tasks.task import Task


def predictions(task: Task, records: list[Exchange], answer: Answer) -> list[Prediction]:
    """The reply of each exchange."""
    return [
        Prediction(reply.decode("utf-8", errors="replace"), ())
        for reply in answer["reply"].tolist()
    ]


def reply_scores(
    task: Task, records: list[Exchange], predictions: list[Prediction]
) -> dict[str, float]:
    """F1 of the replies, and how varied they are."""
    replies = [prediction.label for prediction in predictions]
    pairs = zip(replies, records, strict=True)
    scores = [answer_f1(reply, (record.reply,)) for reply, record in pairs]
    return {
        "f1": sum(scores) / len(scores),
        "distinct_1": distinct(replies, 1),
        "distinct_2": distinct(replies, 2),
        "equal_replies": 1 - len(set(replies)) / len(replies),
    }


def distinct(replies: Sequence[str], n: int) -> float:
    """distinct-n: the number of distinct n-grams of words, divided by the number of all; 0 without.

    Source: Li et al. 2016, "A Diversity-Promoting Objective Function for Neural Conversation
    Models".
    """
    grams = [
        tuple(words[start : start + n])
        for words in map(str.split, replies)
        for start in range(len(words) - n + 1)
    ]
    return len(set(grams)) / len(grams) if grams else 0.0


def refuse_export(*arguments) -> None:
    """Refuses exports.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        "a model of dialogues is not exported or served yet; expected its run folder: "
        "`tf-adapt chat RUN`, `tf-adapt predict RUN`, `tf-adapt evaluate RUN`"
    )
