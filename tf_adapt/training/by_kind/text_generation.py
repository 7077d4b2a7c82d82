"""Written texts: the model, and its scores."""

from collections.abc import Sequence
from typing import Any

import keras

from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.data.batches import PreparedData
from tf_adapt.data.packing.text_generation import check_decoder
from tf_adapt.encoder.encoder_decoder import EncoderDecoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.text_generation.encoder_decoder_model import build_encoder_decoder
from tf_adapt.serving.by_kind.text_generation import text_scores
from tf_adapt.serving.prediction.predict import batch_predictions, to_predictions
from tf_adapt.serving.prediction.prediction import Prediction
from tf_adapt.tasks.by_kind.text_generation import ROUGE, bleu_signature, check_overlaps
from tf_adapt.tasks.task import Task
from tf_adapt.training.by_kind import classification
from tf_adapt.training.by_kind.classification import Answer, Scores
from tf_adapt.training.by_kind.dialog import perplexity


def build(
    task: Task,
    encoder: EncoderDecoder,
    adaptation: Adaptation,
    auxiliaries: Sequence = (),
    head: str = "default",
    generation: dict[str, Any] | None = None,
    **reading,
) -> AdaptedModel:
    """An encoder-decoder.

    Args:
        generation: further arguments of `build_encoder_decoder`.

    Raises:
        ConfigError: another head; what computes the scores is not installed; as `check_decoder`
            and `build_encoder_decoder`.
    """
    check_overlaps()
    check_decoder(encoder)
    if head != "default":
        raise ConfigError(f"head: expected default for text_generation, got {head}")
    return build_encoder_decoder(task, encoder, adaptation, **generation or {})


def evaluated(
    model: AdaptedModel,
    prepared: PreparedData,
    records: list,
    batch_size: int,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> Scores:
    """As of most kinds; where ROUGE chooses the epoch the texts are written too, which takes
    longer."""
    found = classification.evaluated(model, prepared, records, batch_size, callbacks)
    if model.task.metric not in ROUGE:
        return found
    answer = batch_predictions(model, prepared, batch_size)
    texts = to_predictions(model.task, records, answer)
    return found | text_scores(model.task, records, texts)


def scores(task: Task, records: list, answer: Answer, predictions: list[Prediction]) -> Scores:
    """Perplexity of the targets, ROUGE, BLEU and variety of the texts."""
    return {"perplexity": perplexity(answer), **text_scores(task, records, predictions)}


def facts(examples: dict[str, list]) -> dict[str, str]:
    """The signature of BLEU."""
    return {"bleu_signature": bleu_signature()}
