"""The answers to questions: a part of the context. Imports no TensorFlow, but for a model's own."""

from collections.abc import Mapping

from tf_adapt.data.formats import Record
from tf_adapt.serving.by_kind.classification import Answer, Outputs
from tf_adapt.serving.prediction.prediction import FoundAnswer, Prediction
from tf_adapt.tasks.answer_scores import answer_scores
from tf_adapt.tasks.task import Task

# Name of an input of a signature → that of a record's text.
QUESTION: Mapping[str, str] = {"question": "text_a", "context": "text_b"}


def predictions(task: Task, records: list[Record], answer: Answer) -> list[Prediction]:
    """The best answers to each question."""
    # Here: an export has no windows, and needs no TensorFlow.
    from tf_adapt.serving.prediction.answers import answers_of_questions

    return [
        Prediction(answers[0].text, (answers[0].score,), answers)
        for answers in answers_of_questions(records, answer, task.spans)
    ]


def served(task: Task, records: list[Record], outputs: Outputs) -> Answer:
    """The answer of an export."""
    return {name: outputs[name] for name in ("answer", "score", "start", "end")}


def served_predictions(task: Task, records: list[Record], answer: Answer) -> list[Prediction]:
    """The predictions of an export: the best answer to each question alone."""
    answers = [
        FoundAnswer(text, float(score), int(start), int(end))
        for text, score, start, end in zip(
            answer["answer"], answer["score"], answer["start"], answer["end"], strict=True
        )
    ]
    return [Prediction(answer.text, (answer.score,), (answer,)) for answer in answers]


def scores(task: Task, records: list[Record], predictions: list[Prediction]) -> dict[str, float]:
    """F1 and exact match of the answers to labelled questions."""
    gold = [record.label.texts for record in records]
    return answer_scores([prediction.label for prediction in predictions], gold)
