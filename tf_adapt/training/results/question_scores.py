"""Loss and scores of a model for span extraction, in one pass over questions."""

import numpy as np

from tf_adapt.data.batches import PreparedData
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.serving.prediction.answers import scores_of_answers
from tf_adapt.serving.prediction.predict import Prediction, batch_predictions, to_predictions


def question_scores(
    model: AdaptedModel, prepared: PreparedData, records: list, batch_size: int
) -> dict[str, float]:
    """The mean loss of all windows, and the scores of the answers to all questions.

    In place of `evaluate`, which sees the windows of a context apart.
    """
    windows = batch_predictions(model, prepared, batch_size)
    return scores_of_windows(records, windows, to_predictions(model.task, records, windows))


def scores_of_windows(
    records: list, windows: dict[str, np.ndarray], predictions: list[Prediction]
) -> dict[str, float]:
    """The mean loss of predicted windows, and the scores of the answers in them."""
    scores = scores_of_answers(records, [one.label for one in predictions])
    return {"loss": float(np.mean(windows["loss"])), **scores}
