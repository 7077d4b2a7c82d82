"""Kinds of task: the loss, the metrics and the heads that belong to each."""

import math
from dataclasses import asdict, dataclass

import keras

from tf_adapt.data.labels import SCHEMES
from tf_adapt.errors import ConfigError
from tf_adapt.heads.linear import LinearHead
from tf_adapt.heads.tagger import LinearTagger
from tf_adapt.losses import CrossEntropy, SquaredError
from tf_adapt.metrics import MatthewsCorrelation, PearsonCorrelation, SpanF1
from tf_adapt.spans import is_tag

# The first metric is the default: the one that decides between epochs. The first head of each
# encoder family is the default head.
TASKS = {
    "classification": {
        "loss": CrossEntropy,
        "metrics": ("accuracy", "matthews"),
        "heads": {"bert": ("linear",), "elmo": ("linear",)},
    },
    "pair_classification": {
        "loss": CrossEntropy,
        "metrics": ("accuracy", "matthews"),
        "heads": {"bert": ("linear",), "elmo": ("linear",)},
    },
    "pair_regression": {
        "loss": SquaredError,
        "metrics": ("pearson",),
        "heads": {"bert": ("linear",), "elmo": ("linear",)},
    },
    "tagging": {
        "loss": CrossEntropy,
        "metrics": ("span_f1",),
        "heads": {"bert": ("linear_tagger",), "elmo": ("linear_tagger",)},
    },
}

METRICS = {
    "accuracy": lambda task: keras.metrics.SparseCategoricalAccuracy(name="accuracy"),
    "matthews": lambda task: MatthewsCorrelation(task.num_outputs),
    "pearson": lambda task: PearsonCorrelation(),
    "span_f1": lambda task: SpanF1(task.labels, task.scheme),
}

HEADS = {
    "linear": lambda task, family, dropout: LinearHead(
        task.num_outputs,
        dropout,
        pooling="pooled" if family == "bert" else "max",
        regression=task.is_regression,
        name="head",
    ),
    "linear_tagger": lambda task, family, dropout: LinearTagger(
        task.num_outputs, dropout, name="head"
    ),
}


@keras.saving.register_keras_serializable("tf_adapt")
@dataclass(frozen=True)
class Task:
    """What is to be learnt: a kind of task with its labels and its metric.

    Args:
        kind: a key of `TASKS`.
        labels: the labels (for tagging, the tags) in the order of their ids; none for regression.
        metric: the score that decides between epochs; by default the kind's first.
        scheme: of the tags: "IOB1", "IOB2" or "BIOES"; used by tagging only.
        label_range: lowest and highest target of a regression, for those who show it; the loss and
            the metric stay on the targets' own scale.

    Raises:
        ConfigError: an argument is unknown, missing, or does not fit the kind.
    """

    kind: str
    labels: tuple[str, ...] | None = None
    metric: str | None = None
    scheme: str = "IOB2"
    label_range: tuple[float, float] | None = None

    def __post_init__(self):
        if self.kind not in TASKS:
            raise ConfigError(f"task kind: expected one of {', '.join(TASKS)}, got {self.kind!r}")
        # A frozen dataclass is written to this way; lists become tuples so that a task is a value.
        object.__setattr__(self, "labels", _checked_labels(self))
        object.__setattr__(self, "metric", _checked_metric(self))
        object.__setattr__(self, "label_range", _checked_range(self))
        if self.is_tagging:
            _check_tags(self)

    @property
    def is_pair(self) -> bool:
        """An example is two texts."""
        return self.kind.startswith("pair_")

    @property
    def is_tagging(self) -> bool:
        """An example is a sequence of words with one tag each."""
        return self.kind == "tagging"

    @property
    def is_regression(self) -> bool:
        """The target is a number."""
        return self.kind == "pair_regression"

    @property
    def num_outputs(self) -> int:
        """Numbers that a head computes for an example, or for each word."""
        return 1 if self.is_regression else len(self.labels)

    @property
    def loss(self) -> keras.losses.Loss:
        """A new loss, exact over the global batch."""
        return TASKS[self.kind]["loss"]()

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        """New metrics: all that fit the kind, the task's own first."""
        names = sorted(TASKS[self.kind]["metrics"], key=lambda name: name != self.metric)
        return [METRICS[name](self) for name in names]

    def get_config(self) -> dict:
        """The arguments, as plain values."""
        config = asdict(self)
        for name in ("labels", "label_range"):
            config[name] = None if config[name] is None else list(config[name])
        return config

    @classmethod
    def from_config(cls, config: dict) -> "Task":
        """The task of `get_config`."""
        return cls(**config)


def build_head(name: str, task: Task, family: str, dropout: float = 0.1) -> keras.layers.Layer:
    """A new head by name; "default" is the first of `TASKS` for the kind and the encoder's family.

    Raises:
        ConfigError: there is no head of that name for this kind of task and this family.
    """
    families = TASKS[task.kind]["heads"]
    if family not in families:
        raise ConfigError(
            f"encoder family: expected one of {', '.join(families)}, got {family!r}; "
            "pass a head of your own to build_model"
        )
    if name != "default" and name not in families[family]:
        raise ConfigError(
            f"head: expected one of {', '.join(('default', *families[family]))} "
            f"for {task.kind} with a {family} encoder, got {name!r}"
        )
    return HEADS[families[family][0] if name == "default" else name](task, family, dropout)


def _checked_labels(task: Task) -> tuple[str, ...] | None:
    if task.is_regression:
        if task.labels is not None:
            raise ConfigError(f"labels: expected none for {task.kind}, got {task.labels!r}")
        return None
    if task.labels is None or isinstance(task.labels, str) or not list(task.labels):
        raise ConfigError(
            f"labels: expected a list of at least one label for {task.kind}, got {task.labels!r}"
        )
    labels = tuple(task.labels)
    for position, label in enumerate(labels):
        if not isinstance(label, str) or not label:
            raise ConfigError(f"labels[{position}]: expected a text, got {label!r}; quote it")
        if label in labels[:position]:
            raise ConfigError(f"labels[{position}]: {label!r} is there twice; keep one")
    return labels


def _checked_metric(task: Task) -> str:
    metrics = TASKS[task.kind]["metrics"]
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


def _check_tags(task: Task) -> None:
    if task.scheme not in SCHEMES:
        raise ConfigError(f"scheme: expected one of {', '.join(SCHEMES)}, got {task.scheme!r}")
    for position, tag in enumerate(task.labels):
        if not is_tag(tag, task.scheme):
            raise ConfigError(
                f"labels[{position}]: expected a tag of the scheme {task.scheme} "
                f"(O, or one of {', '.join(SCHEMES[task.scheme])} followed by - and a type), "
                f"got {tag!r}"
            )
