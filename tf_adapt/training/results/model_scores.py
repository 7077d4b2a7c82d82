"""The loss and the metrics of a model on labelled examples."""

from typing import Any

from tf_adapt.data.batches import PreparedData
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.runs.slices import Slices
from tf_adapt.serving.prediction.predict import batch_predictions, to_predictions
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.results.slices import scores_of_predictions


def scores_on(
    model: AdaptedModel,
    records: list,
    prepared: PreparedData,
    batch_size: int,
    slices: Slices | None = None,
) -> dict[str, Any]:
    """Loss and metrics of a model, which is compiled for it, on records and their prepared data.

    With slices their scores are under `slices`.
    """
    task = model.task
    row = KINDS[task.kind]
    model.compile(loss=task.loss, metrics=task.metrics, jit_compile=False)
    scores: dict[str, Any] = row.evaluated_last(model, prepared, records, batch_size)
    if row.file_scores is None and not slices:
        return scores
    answer = batch_predictions(model, prepared, batch_size)
    predictions = to_predictions(task, records, answer)
    if row.file_scores is not None:
        scores |= row.file_scores(task, records, answer, predictions)
    if slices:
        scores["slices"] = scores_of_predictions(slices, task, records, predictions)
    return scores
