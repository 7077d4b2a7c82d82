"""The loss and the metrics of a model on labelled examples."""

from typing import Any

from tf_adapt.data.batches import PreparedData
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.runs.slices import Slices
from tf_adapt.serving.prediction.predict import batch_predictions, to_predictions
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.kinds import KINDS as TASKS
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.results.quality import quality
from tf_adapt.training.results.slices import scores_of_predictions


def scores_on(
    model: AdaptedModel, records: list, prepared: PreparedData, batch_size: int
) -> dict[str, Any]:
    """Loss and metrics of a model, which is compiled for it, on records and their prepared data."""
    scores = _evaluated(model, records, prepared, batch_size)
    if KINDS[model.task.kind].file_scores is None:
        return scores
    answer = batch_predictions(model, prepared, batch_size)
    return scores | _of_answer(model, records, answer, to_predictions(model.task, records, answer))


def described_scores(
    model: AdaptedModel,
    records: list,
    prepared: PreparedData,
    batch_size: int,
    slices: Slices | None = None,
) -> tuple[dict[str, Any], list[Prediction]]:
    """As `scores_on`, with the `quality` of the predictions, and with slices their scores under
    `slices`; and the predictions. A language model, which predicts no labels, has none, and is
    scored as by `scores_on`."""
    scores, task = _evaluated(model, records, prepared, batch_size), model.task
    if TASKS[task.kind].target is None:
        return scores, []
    answer = batch_predictions(model, prepared, batch_size)
    predictions = to_predictions(task, records, answer)
    scores |= _of_answer(model, records, answer, predictions) | quality(task, records, predictions)
    if slices:
        scores["slices"] = scores_of_predictions(slices, task, records, predictions)
    return scores, predictions


def _evaluated(
    model: AdaptedModel, records: list, prepared: PreparedData, batch_size: int
) -> dict[str, Any]:
    task = model.task
    model.compile(loss=task.loss, metrics=task.metrics, jit_compile=False)
    return KINDS[task.kind].evaluated_last(model, prepared, records, batch_size)


def _of_answer(
    model: AdaptedModel, records: list, answer: dict, predictions: list[Prediction]
) -> dict[str, Any]:
    scores = KINDS[model.task.kind].file_scores
    return {} if scores is None else scores(model.task, records, answer, predictions)
