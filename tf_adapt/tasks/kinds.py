"""Kinds of task, by the form of an example and of its label. Imports no TensorFlow."""

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
