"""What a model does with each kind of task."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import tensorflow as tf

from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.by_kind import (
    classification,
    dialog,
    multilabel_classification,
    regression,
    span_extraction,
    tagging,
    text_generation,
)
from tf_adapt.models.contrastive.contrasts import OF_LABELS, OF_SCORES, Contrast
from tf_adapt.tasks.kinds import KINDS as KINDS_OF_TASK
from tf_adapt.tasks.task import Task

OF_TEXTS = ("dropout", "mask", "noise", "words", "adversarial", "paraphrases")
OF_WORDS_IN_PLACE = ("dropout", "mask", "noise", "adversarial", "views")


def any_encoder(encoder: HubEncoder) -> None:
    """Takes every encoder."""


@dataclass(frozen=True)
class Row:
    """A model for a kind of task.

    Args:
        inputs: one dummy example, to build layers with.
        targets: its targets.
        predictions: in inference mode, from the model, its outputs and the inputs of the text;
            None: the model has its own.
        combined: one answer from those of several models: from their weighted mean, whether they
            vote, and the number of labels.
        soft_losses: of a student's outputs against a teacher's answers.
        real: which of these losses are of targets, not of padding.
        options: what it can be trained with: `signal_annealing`.
        label_weights: of targets, in the loss, from those of the labels; see
            `tf_adapt.tasks.class_weights`.
        perturbations: of unlabelled texts, whose predictions can be compared.
        check_encoder: refuses encoders.
        lstm_dropouts: of an AWD-LSTM: those of a task, or of the language model.
        contrast: what contrastive tuning trains on; None: there is none.
    """

    inputs: Callable[[HubEncoder], dict]
    targets: Callable[[Task], tf.Tensor] = classification.targets
    predictions: Callable[..., dict] | None = classification.predictions
    combined: Callable[[Callable, bool, int], dict] = classification.combined
    soft_losses: Callable = classification.soft_losses
    real: Callable = classification.all_real
    options: tuple[str, ...] = ()
    label_weights: Callable = classification.label_weights
    perturbations: tuple[str, ...] = ()
    check_encoder: Callable[[HubEncoder], None] = any_encoder
    lstm_dropouts: Callable = lambda native: native.use_dropouts(of_language_model=False)
    contrast: Contrast | None = None


def _classification(inputs: Callable) -> Row:
    options = ("signal_annealing",)
    return Row(inputs, options=options, perturbations=OF_TEXTS)


def _regression(inputs: Callable) -> Row:
    return Row(
        inputs,
        regression.targets,
        regression.predictions,
        regression.combined,
        regression.soft_losses,
    )


KINDS = {
    "classification": replace(_classification(classification.text_inputs), contrast=OF_LABELS),
    "multilabel_classification": Row(
        classification.text_inputs,
        multilabel_classification.targets,
        multilabel_classification.predictions,
        multilabel_classification.combined,
        label_weights=multilabel_classification.choice_weights,
        perturbations=OF_TEXTS,
    ),
    "regression": _regression(classification.text_inputs),
    "pair_classification": _classification(classification.pair_inputs),
    "pair_regression": replace(_regression(classification.pair_inputs), contrast=OF_SCORES),
    "tagging": Row(
        tagging.inputs,
        tagging.targets,
        tagging.predictions,
        real=tagging.real_words,
        label_weights=tagging.tag_weights,
        options=("signal_annealing",),
        perturbations=OF_WORDS_IN_PLACE,
    ),
    "span_extraction": Row(
        span_extraction.inputs,
        span_extraction.targets,
        span_extraction.predictions,
        check_encoder=span_extraction.check_encoder,
    ),
    "dialog": Row(
        dialog.inputs,
        dialog.targets,
        predictions=None,
        check_encoder=dialog.check_encoder,
    ),
    "text_generation": Row(
        text_generation.inputs,
        text_generation.targets,
        predictions=None,
        check_encoder=text_generation.check_encoder,
    ),
    "language_model": Row(
        classification.text_inputs,
        lstm_dropouts=lambda native: native.use_dropouts(of_language_model=True),
    ),
}


def refuse_language_model(task: Task) -> None:
    """Refuses the task of a language model, which predicts no labels.

    Raises:
        ConfigError: the task is a language model.
    """
    if KINDS_OF_TASK[task.kind].target is None:
        raise ConfigError(
            "a language model predicts no labels; make a module of it with `tf-adapt module "
            "export`, and train a task on that"
        )
