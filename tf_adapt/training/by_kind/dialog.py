"""Dialogues: the model, and the scores of its replies."""

import math
from collections.abc import Sequence

import numpy as np

from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.dialog.dialog_model import build_dialog_model
from tf_adapt.serving.by_kind.dialog import reply_scores
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.by_kind.dialog import NEW_TOKENS, SEGMENTS
from tf_adapt.tasks.task import Task
from tf_adapt.training.by_kind.classification import Answer, Scores
from tf_adapt.training.by_kind.nearest_reply import tfidf_hits

# Arguments of the encoder.
ENCODER = {"new_tokens": NEW_TOKENS, "segments": SEGMENTS}


def build(
    task: Task,
    encoder: HubEncoder,
    adaptation: Adaptation,
    auxiliaries: Sequence = (),
    head: str = "default",
    **reading,
) -> AdaptedModel:
    """A model of dialogues, which has two losses of its own, and no other head than its own.

    Raises:
        ConfigError: another head; as `build_dialog_model`.
    """
    if head != "default":
        raise ConfigError(f"head: expected default for dialog, which has its own, got {head}")
    return build_dialog_model(task, encoder, adaptation)


def scores(task: Task, records: list, answer: Answer, predictions: list[Prediction]) -> Scores:
    """Perplexity, F1, variety, and how often the right reply has the highest score of all
    candidates, by chance one in their number; beside it the baseline, by TF-IDF."""
    choices = answer["choices"]
    hits = f"hits_at_1_of_{choices.shape[1]}"
    return {
        "perplexity": perplexity(answer),
        hits: float(np.mean(np.argmax(choices, axis=1) == 0)),
        f"tfidf_{hits}": tfidf_hits(records),
        **reply_scores(task, records, predictions),
    }


def perplexity(answer: Answer) -> float:
    """`exp` of the mean `−log p` of all tokens that were to be written."""
    mean = float(np.sum(answer["loss"], dtype="float64") / np.sum(answer["tokens"]))
    return math.exp(min(mean, 700.0))


def first_persona(examples: dict[str, list]) -> dict[str, list[str]]:
    """The persona of the first dialogue of test, or of dev."""
    return {"persona": list(examples.get("test", examples["dev"])[0].persona)}
