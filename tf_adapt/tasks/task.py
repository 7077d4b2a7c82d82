"""A task: its kind, its labels and its metric. Imports Keras for its loss and metrics alone."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tf_adapt.errors import ConfigError
from tf_adapt.tasks.arguments import refused, unchecked
from tf_adapt.tasks.kinds import KINDS, metrics_of
from tf_adapt.tasks.span_search import SpanSearch

if TYPE_CHECKING:
    import keras

LOWER_IS_BETTER = ("perplexity",)


@dataclass(frozen=True)
class Task:
    """A kind of task with its labels and its metric.

    Args:
        kind: a key of `tf_adapt.tasks.kinds.KINDS`.
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
        temperature: of a classifier of texts or pairs: divides the logits in predictions; None: 1.

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
    temperature: float | None = None

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ConfigError(f"task kind: expected one of {', '.join(KINDS)}, got {self.kind!r}")
        # The way to set fields of a frozen dataclass; lists become tuples, so that it is hashable.
        for name, checked in (_ARGUMENTS | KINDS[self.kind].arguments).items():
            object.__setattr__(self, name, checked(self, name))

    @property
    def num_outputs(self) -> int:
        """Number of a head's outputs for an example, or for each word."""
        return KINDS[self.kind].num_outputs(self)

    @property
    def loss(self) -> "keras.losses.Loss":
        """A new loss, exact over the global batch."""
        from tf_adapt.tasks.keras_kinds import KINDS as IN_KERAS

        return IN_KERAS[self.kind].loss()

    @property
    def metrics(self) -> "list[keras.metrics.Metric]":
        """New metrics: all of the kind, the task's own first.

        None for span extraction, whose scores need the texts of whole questions: see
        `tf_adapt.tasks.answer_scores`.
        """
        from tf_adapt.tasks.keras_kinds import KINDS as IN_KERAS

        made = IN_KERAS[self.kind].metrics
        names = sorted(metrics_of(self.kind, self.scheme), key=lambda name: name != self.metric)
        return [made[name](self) for name in names if name in made]

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


def _checked_metric(task: Task, name: str) -> str:
    metrics = metrics_of(task.kind, task.scheme)
    if task.metric is None:
        return metrics[0]
    if task.metric not in metrics:
        raise ConfigError(
            f"metric: expected one of {', '.join(metrics)} for {task.kind}, got {task.metric!r}"
        )
    return task.metric


# The checks of arguments that are not among a kind's own, in the order in which they are made.
_ARGUMENTS = {
    "labels": refused,
    "metric": _checked_metric,
    "label_range": refused,
    "thresholds": refused,
    "spans": refused,
    "temperature": refused,
    "scheme": unchecked,
}
