"""Kinds of task, by the form of an example and of its label. Imports no TensorFlow."""

from tf_adapt.tasks.tag_schemes import WORDS

# The first metric of each is the default: it selects the best epoch.
METRICS_OF = {
    "classification": ("accuracy", "matthews"),
    "multilabel_classification": ("micro_f1", "macro_f1"),
    "regression": ("pearson",),
    "pair_classification": ("accuracy", "matthews"),
    "pair_regression": ("pearson",),
    "tagging": ("span_f1", "strict_span_f1"),
    "span_extraction": ("f1", "exact_match"),
}
KINDS = tuple(METRICS_OF)
PAIRS = ("pair_classification", "pair_regression")
# One label of several.
CLASSIFICATIONS = ("classification", "pair_classification")
# Any number of labels, also none: see `tf_adapt.data.formats.label_sets`.
MULTILABEL = "multilabel_classification"
# The label is a part of the second text: see `tf_adapt.data.formats.records.Answers`.
SPAN_EXTRACTION = "span_extraction"
# The label is a number.
REGRESSIONS = ("regression", "pair_regression")


def metrics_of(kind: str, scheme: str | None = None) -> tuple[str, ...]:
    """The metrics of a kind of task; of tags that are each of its word alone, the accuracy."""
    if kind == "tagging" and scheme == WORDS:
        return ("accuracy",)
    return METRICS_OF[kind]
