"""The task value: what it refuses, what it builds, and that it survives serialization."""

import keras
import pytest

from tf_adapt.errors import ConfigError
from tf_adapt.heads.linear import LinearHead
from tf_adapt.heads.tagger import LinearTagger
from tf_adapt.losses import CrossEntropy, SquaredError
from tf_adapt.metrics import MatthewsCorrelation, PearsonCorrelation, SpanF1
from tf_adapt.tasks import HEADS, METRICS, TASKS, Task, build_head

TAGS = ["O", "B-PER", "I-PER"]


def make(kind):
    labels = {"tagging": TAGS, "pair_regression": None}.get(kind, ["no", "yes"])
    return Task(kind, labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"kind": "regresion"},
            "task kind: expected one of classification, p.*got 'regresion'",
        ),
        ({"kind": "os.system"}, "task kind: expected one of"),
        ({"kind": "classification"}, "labels: expected a list .* classification, got None"),
        ({"kind": "classification", "labels": []}, "labels: expected a list of at least one"),
        ({"kind": "classification", "labels": "no"}, "labels: expected a list .*got 'no'"),
        ({"kind": "classification", "labels": ["no", True]}, r"labels\[1\]: .*got True; quote it"),
        ({"kind": "classification", "labels": ["a", ""]}, r"labels\[1\]: expected a text, got ''"),
        ({"kind": "classification", "labels": ["a", "b", "a"]}, r"labels\[2\]: 'a' is there twice"),
        ({"kind": "pair_regression", "labels": ["a"]}, "labels: expected none for pair_regression"),
        (
            {"kind": "classification", "labels": ["a"], "metric": "pearson"},
            "metric: expected one of accuracy, matthews for classification, got 'pearson'",
        ),
        ({"kind": "pair_regression", "metric": "accuracy"}, "metric: expected one of pearson for"),
        (
            {"kind": "tagging", "labels": TAGS, "scheme": "IOB3"},
            "scheme: expected one of IOB1, IOB2, BIOES, got 'IOB3'",
        ),
        (
            {"kind": "tagging", "labels": [*TAGS, "E-PER"]},
            r"labels\[3\]: expected a tag of the scheme IOB2 \(O, or one of B, I .*got 'E-PER'",
        ),
        ({"kind": "tagging", "labels": ["B_PER"]}, r"labels\[0\]: .*got 'B_PER'"),
        ({"kind": "tagging", "labels": ["O", "B-"]}, r"labels\[1\]: .*got 'B-'"),
        ({"kind": "tagging", "labels": ["-"]}, r"labels\[0\]: .*got '-'"),
        ({"kind": "tagging", "labels": ["b-per"]}, r"labels\[0\]: .*got 'b-per'"),
        (
            {"kind": "classification", "labels": ["a"], "label_range": [0, 5]},
            "label_range: expected none for classification",
        ),
        ({"kind": "pair_regression", "label_range": [5, 0]}, "label_range: expected two finite"),
        ({"kind": "pair_regression", "label_range": [0, float("nan")]}, "label_range: expected"),
        ({"kind": "pair_regression", "label_range": 5}, "label_range: expected two .*got 5"),
    ],
)
def test_a_wrong_argument_is_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        Task(**arguments)


@pytest.mark.parametrize(
    ("kind", "outputs", "loss", "metrics", "flags"),
    [
        ("classification", 2, CrossEntropy, ["accuracy", "matthews"], (False, False, False)),
        ("pair_classification", 2, CrossEntropy, ["accuracy", "matthews"], (True, False, False)),
        ("pair_regression", 1, SquaredError, ["pearson"], (True, False, True)),
        ("tagging", 3, CrossEntropy, ["span_f1"], (False, True, False)),
    ],
)
def test_what_belongs_to_a_kind(kind, outputs, loss, metrics, flags):
    task = make(kind)
    assert (task.is_pair, task.is_tagging, task.is_regression) == flags
    assert task.num_outputs == outputs
    assert type(task.loss) is loss
    assert [metric.name for metric in task.metrics] == metrics
    assert task.metric == metrics[0]
    assert task.loss is not task.loss
    assert task.metrics[0] is not task.metrics[0]


def test_every_kind_is_covered_here():
    assert set(TASKS) == {"classification", "pair_classification", "pair_regression", "tagging"}
    named = {name for row in TASKS.values() for name in row["metrics"]}
    assert named == set(METRICS)
    heads = {name for row in TASKS.values() for names in row["heads"].values() for name in names}
    assert heads == set(HEADS)


def test_the_metrics_know_the_task():
    task = Task("classification", ["a", "b", "c"], metric="matthews")
    assert [metric.name for metric in task.metrics] == ["matthews", "accuracy"]
    assert isinstance(task.metrics[0], MatthewsCorrelation)
    assert task.metrics[0].num_classes == 3
    tagging = Task("tagging", ["O", "S-A"], scheme="BIOES").metrics[0]
    assert isinstance(tagging, SpanF1)
    assert (tagging.labels, tagging.scheme) == (["O", "S-A"], "BIOES")
    assert isinstance(Task("pair_regression").metrics[0], PearsonCorrelation)


@pytest.mark.parametrize(
    "task",
    [
        Task("classification", ["a", "b"], metric="matthews"),
        Task("pair_regression", label_range=[0, 5]),
        Task("tagging", ["O", "B-PER-X"], scheme="IOB1"),
    ],
)
def test_a_task_is_a_value_and_survives_serialization(task):
    config = keras.saving.serialize_keras_object(task)
    again = keras.saving.deserialize_keras_object(config)
    assert again == task
    assert hash(again) == hash(task)
    assert set(task.get_config()) == {"kind", "labels", "metric", "scheme", "label_range"}


@pytest.mark.parametrize(
    ("kind", "family", "expected"),
    [
        ("classification", "bert", (LinearHead, "pooled", False)),
        ("classification", "elmo", (LinearHead, "max", False)),
        ("pair_classification", "bert", (LinearHead, "pooled", False)),
        ("pair_regression", "elmo", (LinearHead, "max", True)),
        ("tagging", "bert", (LinearTagger, None, None)),
        ("tagging", "elmo", (LinearTagger, None, None)),
    ],
)
def test_default_heads(kind, family, expected):
    task = make(kind)
    head = build_head("default", task, family, dropout=0.3)
    got = type(head), getattr(head, "pooling", None), getattr(head, "regression", None)
    assert got == expected
    assert (head.num_outputs, head.dropout) == (task.num_outputs, 0.3)
    assert type(build_head(TASKS[kind]["heads"][family][0], task, family)) is type(head)


def test_an_unknown_head_or_family_is_refused():
    task = make("classification")
    message = "head: expected one of default, linear for classification with a bert encoder, got 'b"
    with pytest.raises(ConfigError, match=message):
        build_head("bcn2", task, "bert")
    with pytest.raises(ConfigError, match="expected one of default, linear for class"):
        build_head("linear_tagger", task, "elmo")
    with pytest.raises(ConfigError, match="encoder family: expected one of bert, elmo, got 'gpt'"):
        build_head("default", task, "gpt")
