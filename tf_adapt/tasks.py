"""Kinds of task: the loss, the metrics and the heads that belong to each."""

import inspect
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import keras

from tf_adapt.data.splits import Splits
from tf_adapt.errors import ConfigError
from tf_adapt.heads.bcn import BCN
from tf_adapt.heads.bi_attention import BiAttentionHead
from tf_adapt.heads.esim import ESIM
from tf_adapt.heads.linear import LinearHead
from tf_adapt.heads.max_pooling import MaxPoolingHead
from tf_adapt.heads.tagger import Tagger
from tf_adapt.layers.tag_constraints import tag_constraints
from tf_adapt.losses import CrossEntropy, LanguageModelLoss, SquaredError
from tf_adapt.metrics import MatthewsCorrelation, PearsonCorrelation, Perplexity, SpanF1
from tf_adapt.paper import HEADS as PAPER_HEADS
from tf_adapt.tag_schemes import SCHEMES, is_tag

# The first metric is the default: the one that decides between epochs.
TASKS = {
    "classification": {"loss": CrossEntropy, "metrics": ("accuracy", "matthews")},
    "pair_classification": {"loss": CrossEntropy, "metrics": ("accuracy", "matthews")},
    "pair_regression": {"loss": SquaredError, "metrics": ("pearson",)},
    "tagging": {"loss": CrossEntropy, "metrics": ("span_f1", "strict_span_f1")},
    # The text is its own target: see `tf_adapt.language_model`.
    "language_model": {"loss": LanguageModelLoss, "metrics": ("perplexity",)},
}
LOWER_IS_BETTER = ("perplexity",)

METRICS = {
    "accuracy": lambda task: keras.metrics.SparseCategoricalAccuracy(name="accuracy"),
    "matthews": lambda task: MatthewsCorrelation(task.num_outputs),
    "pearson": lambda task: PearsonCorrelation(),
    "perplexity": lambda task: Perplexity(),
    "span_f1": lambda task: SpanF1(task.labels, task.scheme),
    "strict_span_f1": lambda task: SpanF1(task.labels, task.scheme, strict=True),
}


@dataclass(frozen=True)
class Head:
    """What a name stands for: which layer, for which kinds of task, made with what beyond sizes."""

    layer: type
    kinds: tuple[str, ...]
    arguments: Callable[["Task"], dict] = lambda task: {}
    has_lstm: bool = False
    elmo_layer: type | None = None


def _crf(task: "Task") -> dict:
    return {"crf": True, "constraints": tag_constraints(task.labels, task.scheme)}


def _bilstm(task: "Task") -> dict:
    # Dropout as in AllenNLP's configuration for ELMo.
    return {"lstm_layers": 2, "dropout": 0.5}


PAIRS = ("pair_classification", "pair_regression")
SENTENCES = ("classification", *PAIRS)
TAGS = ("tagging",)

# Every head works on every encoder. The smallest one reads BERT's pooled vector; ELMo has none.
HEADS = {
    "linear": Head(LinearHead, SENTENCES, elmo_layer=MaxPoolingHead),
    "max_pooling": Head(MaxPoolingHead, PAIRS, lambda task: {"compared": False}),
    "bi_attention": Head(BiAttentionHead, PAIRS),
    "bcn": Head(BCN, ("classification",), has_lstm=True),
    "esim": Head(ESIM, PAIRS, has_lstm=True),
    "linear_tagger": Head(Tagger, TAGS),
    "crf": Head(Tagger, TAGS, _crf),
    "bilstm": Head(Tagger, TAGS, _bilstm, has_lstm=True),
    "bilstm_crf": Head(Tagger, TAGS, lambda task: _bilstm(task) | _crf(task), has_lstm=True),
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

    @classmethod
    def of(cls, splits: Splits) -> "Task":
        """The task that a run's data define."""
        return cls(splits.kind, splits.labels, splits.metric, splits.scheme, splits.label_range)

    @property
    def is_pair(self) -> bool:
        """An example is two texts."""
        return self.kind.startswith("pair_")

    @property
    def is_tagging(self) -> bool:
        """An example is a sequence of words with one tag each."""
        return self.kind == "tagging"

    @property
    def is_language_model(self) -> bool:
        """The text is its own target; there are no labels."""
        return self.kind == "language_model"

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


def build_head(
    name: str,
    task: Task,
    family: str,
    frozen: bool,
    dropout: float | None = None,
    units: int | None = None,
    joint: bool = True,
) -> keras.layers.Layer:
    """A new head by name.

    On an encoder that stays frozen a head reads a learned mix of all layers, on one that is tuned
    the top layer (Peters, Ruder, Smith 2019, section 3).

    Args:
        name: a key of `HEADS`, or "default": see `tf_adapt.paper.HEADS`.
        family: "bert" or "elmo".
        frozen: whether the encoder stays frozen for the whole run.
        dropout: share of units dropped; by default the head's published one.
        units: width of each direction of the head's LSTMs; by default the published one.
        joint: whether BERT reads a pair as one row.

    Raises:
        ConfigError: no such head or family, the head is for other kinds of task, or it has no
            such size.
    """
    if task.is_language_model:
        raise ConfigError(
            "head: a language model has its module's own output layer; expected objective: "
            "language_model, or tf_adapt.language_model.build_language_model"
        )
    name = head_name(name, task, family, frozen)
    fitting = [other for other, head in HEADS.items() if task.kind in head.kinds]
    if name not in fitting:
        for_others = f", which is for {' and '.join(HEADS[name].kinds)}" if name in HEADS else ""
        raise ConfigError(
            f"head: expected one of {', '.join(('default', *fitting))} for {task.kind}, "
            f"got {name!r}{for_others}"
        )
    head = HEADS[name]
    if units is not None and not head.has_lstm:
        raise ConfigError(
            f"head_units: expected none for the head {name}, which has no LSTM, got {units}"
        )
    if name == "linear" and family == "bert" and task.is_pair and not joint:
        raise ConfigError(
            "head: linear reads the pooled vector of a row with both texts; with pairs='separate' "
            "(encoder.pairs) expected one of esim, bi_attention, max_pooling"
        )
    layer = (head.elmo_layer if family == "elmo" else None) or head.layer
    known = inspect.signature(layer).parameters
    implied = {
        "num_outputs": task.num_outputs,
        "mixed": frozen,
        "pair": task.is_pair,
        "regression": task.is_regression,
    }
    given = {
        key: value for key, value in (("dropout", dropout), ("units", units)) if value is not None
    }
    implied = {key: value for key, value in implied.items() if key in known}
    return layer(**implied | head.arguments(task) | given, name="head")


def head_name(name: str, task: Task, family: str, frozen: bool) -> str:
    """The name of a head, "default" resolved: see `build_head`.

    Raises:
        ConfigError: there is no default for this family of encoders.
    """
    families = sorted({family for _, family in PAPER_HEADS})
    if family not in families:
        raise ConfigError(
            f"encoder family: expected one of {', '.join(families)}, got {family!r}; "
            "pass a head of your own to build_model"
        )
    return PAPER_HEADS[task.kind, family][0 if frozen else 1] if name == "default" else name


def _checked_labels(task: Task) -> tuple[str, ...] | None:
    if task.is_regression or task.is_language_model:
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
