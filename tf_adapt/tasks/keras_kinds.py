"""Kinds of task in Keras: the loss and the metrics of each, and what its logits say."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import keras
from keras import ops

from tf_adapt.tasks.class_metrics import BalancedAccuracy, MacroF1, MatthewsCorrelation
from tf_adapt.tasks.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    DialogLoss,
    LanguageModelLoss,
    SpanCrossEntropy,
    SquaredError,
    TextGenerationLoss,
)
from tf_adapt.tasks.metrics import (
    LabelSetF1,
    LogProbability,
    PearsonCorrelation,
    Perplexity,
    ReplyPerplexity,
    RightReplies,
    WordAccuracy,
)
from tf_adapt.tasks.span_f1 import SpanF1
from tf_adapt.tasks.task import Task

# A model's config has its task.
keras.saving.register_keras_serializable("tf_adapt")(Task)


def as_they_are(values):
    """The logits of one choice among all labels, and what belongs to one."""
    return values


def of_each_label(logits):
    """The logits of a choice for each label, with it or without: `[…, labels, 2]`."""
    return ops.stack([logits, ops.zeros_like(logits)], axis=-1)


def mean_of_labels(values):
    """The mean over an example's choices: `[…, labels]` → `[…]`."""
    return ops.mean(values, axis=-1)


@dataclass(frozen=True)
class Row:
    """A kind of task in Keras.

    Args:
        loss: makes one, exact over the global batch.
        metrics: make one, by name; none where the score needs the texts of whole questions
            (`tf_adapt.tasks.answer_scores`).
        outcomes: the logits of the outcomes of each choice, on the last axis.
        of_choices: what belongs to an example or word, from what belongs to each of its choices.
    """

    loss: Callable[[], keras.losses.Loss]
    metrics: Mapping[str, Callable[[Task], keras.metrics.Metric]] = field(default_factory=dict)
    outcomes: Callable = as_they_are
    of_choices: Callable = as_they_are


_CLASSIFICATION = Row(
    CrossEntropy,
    {
        "accuracy": lambda task: keras.metrics.SparseCategoricalAccuracy(name="accuracy"),
        "matthews": lambda task: MatthewsCorrelation(task.num_outputs),
        "macro_f1": lambda task: MacroF1(task.num_outputs),
        "balanced_accuracy": lambda task: BalancedAccuracy(task.num_outputs),
    },
)
_REGRESSION = Row(SquaredError, {"pearson": lambda task: PearsonCorrelation()})
KINDS = {
    "classification": _CLASSIFICATION,
    "multilabel_classification": Row(
        BinaryCrossEntropy,
        {
            "micro_f1": lambda task: LabelSetF1("micro", task.num_outputs, task.thresholds),
            "macro_f1": lambda task: LabelSetF1("macro", task.num_outputs, task.thresholds),
        },
        outcomes=of_each_label,
        of_choices=mean_of_labels,
    ),
    "regression": _REGRESSION,
    "pair_classification": _CLASSIFICATION,
    "pair_regression": _REGRESSION,
    "tagging": Row(
        CrossEntropy,
        {
            "accuracy": lambda task: WordAccuracy(),
            "span_f1": lambda task: SpanF1(task.labels, task.scheme),
            "strict_span_f1": lambda task: SpanF1(task.labels, task.scheme, strict=True),
        },
    ),
    "span_extraction": Row(SpanCrossEntropy),
    "dialog": Row(
        DialogLoss,
        {
            "log_probability": lambda task: LogProbability(),
            "perplexity": lambda task: ReplyPerplexity(),
            "hits_at_1_of_4": lambda task: RightReplies(),
        },
    ),
    "text_generation": Row(
        TextGenerationLoss,
        {
            "log_probability": lambda task: LogProbability(),
            "perplexity": lambda task: ReplyPerplexity(),
        },
    ),
    "language_model": Row(LanguageModelLoss, {"perplexity": lambda task: Perplexity()}),
}
