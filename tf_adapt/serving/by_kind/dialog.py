"""The replies of a dialogue. Imports no TensorFlow."""

from tf_adapt.data.formats.dialogues import Exchange
from tf_adapt.errors import ConfigError
from tf_adapt.serving.by_kind.classification import Answer
from tf_adapt.serving.by_kind.written_texts import variety, written
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.answer_scores import answer_f1
from tf_adapt.tasks.task import Task


def predictions(task: Task, records: list[Exchange], answer: Answer) -> list[Prediction]:
    """The reply of each exchange."""
    return written(answer["reply"])


def reply_scores(
    task: Task, records: list[Exchange], predictions: list[Prediction]
) -> dict[str, float]:
    """F1 of the replies, and how varied they are."""
    replies = [prediction.label for prediction in predictions]
    pairs = zip(replies, records, strict=True)
    scores = [answer_f1(reply, (record.reply,)) for reply, record in pairs]
    return {"f1": sum(scores) / len(scores), **variety(replies, "equal_replies")}


def refuse_export(*arguments) -> None:
    """Refuses exports.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        "a model of dialogues is not exported or served yet; expected its run folder: "
        "`tf-adapt chat RUN`, `tf-adapt predict RUN`, `tf-adapt evaluate RUN`"
    )
