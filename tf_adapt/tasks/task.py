"""Kinds of task: the loss and the metrics that belong to each."""

import math
from dataclasses import asdict, dataclass
from numbers import Integral

import keras

from tf_adapt.errors import ConfigError
from tf_adapt.tasks.kinds import (
    CLASSIFICATIONS,
    METRICS_OF,
    MULTILABEL,
    PAIRS,
    REGRESSIONS,
    SPAN_EXTRACTION,
    metrics_of,
)
from tf_adapt.tasks.label_sets import check_label_name
from tf_adapt.tasks.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    LanguageModelLoss,
    SpanCrossEntropy,
    SquaredError,
)
from tf_adapt.tasks.metrics import (
    LabelSetF1,
    MatthewsCorrelation,
    PearsonCorrelation,
    Perplexity,
    SpanF1,
    WordAccuracy,
)
from tf_adapt.tasks.span_search import SpanSearch
from tf_adapt.tasks.tag_schemes import SCHEMES, TASK_SCHEMES, is_tag

LOSSES = {
    **dict.fromkeys(CLASSIFICATIONS, CrossEntropy),
    **dict.fromkeys(REGRESSIONS, SquaredError),
    MULTILABEL: BinaryCrossEntropy,
    "tagging": CrossEntropy,
    SPAN_EXTRACTION: SpanCrossEntropy,
}
# The first metric is the default: it selects the best epoch.
TASKS = {
    kind: {"loss": LOSSES[kind], "metrics": metrics} for kind, metrics in METRICS_OF.items()
} | {
    # The text is its own target: see `tf_adapt.models.language_model`.
    "language_model": {"loss": LanguageModelLoss, "metrics": ("perplexity",)},
}
LOWER_IS_BETTER = ("perplexity",)

METRICS = {
    "accuracy": lambda task: (
        WordAccuracy()
        if task.is_tagging
        else keras.metrics.SparseCategoricalAccuracy(name="accuracy")
    ),
    "macro_f1": lambda task: LabelSetF1("macro", task.num_outputs, task.thresholds),
    "matthews": lambda task: MatthewsCorrelation(task.num_outputs),
    "micro_f1": lambda task: LabelSetF1("micro", task.num_outputs, task.thresholds),
    "pearson": lambda task: PearsonCorrelation(),
    "perplexity": lambda task: Perplexity(),
    "span_f1": lambda task: SpanF1(task.labels, task.scheme),
    "strict_span_f1": lambda task: SpanF1(task.labels, task.scheme, strict=True),
}


@keras.saving.register_keras_serializable("tf_adapt")
@dataclass(frozen=True)
class Task:
    """A kind of task with its labels and its metric.

    Args:
        kind: a key of `TASKS`.
        labels: the labels (for tagging, the tags) in the order of their ids, as texts, or as whole
            numbers for their digits; none for regression and span extraction.
        metric: the score that selects the best epoch; by default the kind's first metric.
        scheme: of the tags: "IOB1", "IOB2" or "BIOES"; "words" for tags that are each of its word
            alone, as parts of speech, whose metric is the accuracy; used by tagging only.
        label_range: lowest and highest target of a regression, for display; the loss and the metric
            stay on the targets' own scale.
        thresholds: for multilabel classification: for each label the lowest probability at which it
            is predicted, above 0 and at most 1; None: 0.5. See
            `tf_adapt.tasks.thresholds.best_thresholds`.
        spans: for span extraction: how answers are looked for; None: as by default.

    Raises:
        ConfigError: an argument is unknown, missing, or does not fit the kind.
    """

    kind: str
    labels: tuple[str, ...] | None = None
    metric: str | None = None
    scheme: str = "IOB2"
    label_range: tuple[float, float] | None = None
    thresholds: tuple[float, ...] | None = None
    spans: SpanSearch | None = None

    def __post_init__(self):
        if self.kind not in TASKS:
            raise ConfigError(f"task kind: expected one of {', '.join(TASKS)}, got {self.kind!r}")
        # The way to set fields of a frozen dataclass; lists become tuples, so that it is hashable.
        object.__setattr__(self, "labels", _checked_labels(self))
        object.__setattr__(self, "metric", _checked_metric(self))
        object.__setattr__(self, "label_range", _checked_range(self))
        object.__setattr__(self, "thresholds", _checked_thresholds(self))
        object.__setattr__(self, "spans", _checked_spans(self))
        if self.is_tagging:
            _check_tags(self)

    @property
    def is_pair(self) -> bool:
        """An example is two texts."""
        return self.kind in PAIRS or self.is_span_extraction

    @property
    def is_tagging(self) -> bool:
        """An example is a sequence of words with one tag each."""
        return self.kind == "tagging"

    @property
    def is_span_extraction(self) -> bool:
        """An example is a question and a context, of which the answer is a part."""
        return self.kind == SPAN_EXTRACTION

    @property
    def is_language_model(self) -> bool:
        """The text is its own target; there are no labels."""
        return self.kind == "language_model"

    @property
    def is_regression(self) -> bool:
        """The target is a number."""
        return self.kind in REGRESSIONS

    @property
    def is_multilabel(self) -> bool:
        """An example has any number of the labels, also none."""
        return self.kind == MULTILABEL

    @property
    def num_outputs(self) -> int:
        """Number of a head's outputs for an example, or for each word."""
        if self.is_span_extraction:  # whether a word begins the answer, and whether it ends it
            return 2
        return 1 if self.is_regression else len(self.labels)

    @property
    def loss(self) -> keras.losses.Loss:
        """A new loss, exact over the global batch."""
        return TASKS[self.kind]["loss"]()

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        """New metrics: all of the kind, the task's own first.

        None for span extraction, whose scores need the texts of whole questions: see
        `tf_adapt.tasks.answer_scores`.
        """
        if self.is_span_extraction:
            return []
        names = sorted(_metric_names(self), key=lambda name: name != self.metric)
        return [METRICS[name](self) for name in names]

    def get_config(self) -> dict:
        """The arguments, as plain values."""
        config = asdict(self)
        for name in ("labels", "label_range", "thresholds"):
            config[name] = None if config[name] is None else list(config[name])
        return config

    @classmethod
    def from_config(cls, config: dict) -> "Task":
        """The task of `get_config`."""
        return cls(**config)


def _checked_labels(task: Task) -> tuple[str, ...] | None:
    if task.is_regression or task.is_language_model or task.is_span_extraction:
        if task.labels is not None:
            raise ConfigError(f"labels: expected none for {task.kind}, got {task.labels!r}")
        return None
    if task.labels is None or isinstance(task.labels, str) or not list(task.labels):
        raise ConfigError(
            f"labels: expected a list of at least one label for {task.kind}, got {task.labels!r}"
        )
    # A number is the name with its digits, as in a file.
    labels = tuple(str(int(one)) if _is_integer(one) else one for one in task.labels)
    for position, label in enumerate(labels):
        if not isinstance(label, str) or not label:
            raise ConfigError(f"labels[{position}]: expected a text, got {label!r}; quote it")
        if any(one in label for one in "\t\n\r\0"):
            raise ConfigError(
                f"labels[{position}]: expected a text without tabs and line breaks, which separate "
                f"columns and lines of predictions, got {label[:80]!r}; rename it"
            )
        if label in labels[:position]:
            raise ConfigError(f"labels[{position}]: {label!r} is there twice; keep one")
        if label != label.strip() and label.strip() in labels:
            raise ConfigError(
                f"labels[{position}]: {label!r} and {label.strip()!r} differ in white space alone; "
                "keep one"
            )
        fault = check_label_name(label) if task.is_multilabel else None
        if fault:
            raise ConfigError(f"labels[{position}]: {fault}, got {label!r}; rename it")
    return labels


def _is_integer(label: object) -> bool:
    return isinstance(label, Integral) and not isinstance(label, bool)


def _metric_names(task: Task) -> tuple[str, ...]:
    if task.is_language_model:
        return TASKS[task.kind]["metrics"]
    return metrics_of(task.kind, task.scheme)


def _checked_metric(task: Task) -> str:
    metrics = _metric_names(task)
    if task.metric is None:
        return metrics[0]
    if task.metric not in metrics:
        raise ConfigError(
            f"metric: expected one of {', '.join(metrics)} for {task.kind}, got {task.metric!r}"
        )
    return task.metric


def _checked_range(task: Task) -> tuple[float, float] | None:
    if task.label_range is None:
        return None
    if not task.is_regression:
        raise ConfigError(f"label_range: expected none for {task.kind}, got {task.label_range!r}")
    try:
        low, high = (float(bound) for bound in task.label_range)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigError(
            f"label_range: expected two finite numbers, the lower first, got {task.label_range!r}"
        )
    return low, high


def _checked_thresholds(task: Task) -> tuple[float, ...] | None:
    if task.thresholds is None:
        return None
    if not task.is_multilabel:
        raise ConfigError(f"thresholds: expected none for {task.kind}, got {task.thresholds!r}")
    try:
        thresholds = tuple(float(threshold) for threshold in task.thresholds)
    except (TypeError, ValueError):
        thresholds = ()
    if len(thresholds) != len(task.labels) or not all(0 < one <= 1 for one in thresholds):
        raise ConfigError(
            f"thresholds: expected {len(task.labels)} numbers above 0 and at most 1, one for each "
            f"label, got {task.thresholds!r}"
        )
    return thresholds


def _checked_spans(task: Task) -> SpanSearch | None:
    if not task.is_span_extraction:
        if task.spans is not None:
            raise ConfigError(f"spans: expected none for {task.kind}, got {task.spans!r}")
        return None
    if task.spans is None or isinstance(task.spans, SpanSearch):
        return task.spans or SpanSearch()
    return SpanSearch(**task.spans)  # of `get_config`


def _check_tags(task: Task) -> None:
    if task.scheme not in TASK_SCHEMES:
        raise ConfigError(f"scheme: expected one of {', '.join(TASK_SCHEMES)}, got {task.scheme!r}")
    for position, tag in enumerate(task.labels):
        if not is_tag(tag, task.scheme):
            raise ConfigError(
                f"labels[{position}]: expected a tag of the scheme {task.scheme} "
                f"(O, or one of {', '.join(SCHEMES[task.scheme])} followed by - and a type), "
                f"got {tag!r}; for tags without a type: scheme='words'"
            )
