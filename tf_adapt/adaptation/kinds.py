"""The likelihood of each kind of task, for the Fisher information."""

from collections.abc import Callable
from dataclasses import dataclass

from tf_adapt.adaptation.likelihoods import (
    Likelihood,
    bernoulli_log_likelihood,
    of_labels,
    of_text,
    refuse_sampled,
)
from tf_adapt.errors import ConfigError


@dataclass(frozen=True)
class Row:
    """The Fisher information of a kind of task.

    Args:
        likelihood: from the kind and whether outcomes are sampled from the model; a ConfigError if
            there is none.
    """

    likelihood: Callable[[str, bool], Likelihood]


def _none(kind: str, sampled: bool) -> Likelihood:
    raise ConfigError(f"fisher: expected a task with labels, got {kind}")


def _of_text(kind: str, sampled: bool) -> Likelihood:
    if sampled:
        refuse_sampled("a language model")
    return of_text


_LABELS = Row(lambda kind, sampled: of_labels)
KINDS = {
    "classification": _LABELS,
    "multilabel_classification": Row(lambda kind, sampled: bernoulli_log_likelihood),
    "regression": Row(_none),
    "pair_classification": _LABELS,
    "pair_regression": Row(_none),
    "tagging": _LABELS,
    "span_extraction": Row(_none),
    "dialog": Row(_none),
    "text_generation": Row(_none),
    "language_model": Row(_of_text),
}
