"""The task value: what it refuses, what it builds, and that it survives serialization."""

import keras
import pytest

from tf_adapt.errors import ConfigError
from tf_adapt.heads import kinds as heads_of_kinds
from tf_adapt.heads.bcn import BCN
from tf_adapt.heads.esim import ESIM
from tf_adapt.heads.names import CRF_HEADS, HEAD_NAMES, LSTM_HEADS
from tf_adapt.heads.table import HEADS, build_head
from tf_adapt.paper import HEADS as PAPER_HEADS
from tf_adapt.tasks import keras_kinds
from tf_adapt.tasks.answer_scores import ANSWER_METRICS
from tf_adapt.tasks.by_kind.text_generation import ROUGE
from tf_adapt.tasks.class_metrics import MatthewsCorrelation
from tf_adapt.tasks.kinds import KINDS, ONE_TEXT, TWO_TEXTS, labelled_kinds
from tf_adapt.tasks.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    LanguageModelLoss,
    SpanCrossEntropy,
    SquaredError,
)
from tf_adapt.tasks.metrics import PearsonCorrelation
from tf_adapt.tasks.span_f1 import SpanF1
from tf_adapt.tasks.span_search import SpanSearch
from tf_adapt.tasks.tag_constraints import tag_constraints
from tf_adapt.tasks.task import Task

TAGS = ["O", "B-PER", "I-PER"]
OF_CLASSES = ["accuracy", "matthews", "macro_f1", "balanced_accuracy"]


def make(kind):
    unlabelled = ("regression", "pair_regression", "span_extraction")
    labels = None if kind in unlabelled else TAGS if kind == "tagging" else ["no", "yes"]
    return Task(kind, labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"kind": "regresion"},
            "task kind: expected one of classification, m.*got 'regresion'",
        ),
        ({"kind": "os.system"}, "task kind: expected one of"),
        ({"kind": "classification"}, "labels: expected a list .* classification, got None"),
        ({"kind": "classification", "labels": []}, "labels: expected a list of at least one"),
        ({"kind": "classification", "labels": "no"}, "labels: expected a list .*got 'no'"),
        ({"kind": "classification", "labels": ["no", True]}, r"labels\[1\]: .*got True; quote it"),
        ({"kind": "classification", "labels": ["a", ""]}, r"labels\[1\]: expected a text, got ''"),
        (
            {"kind": "classification", "labels": ["0", "0 "]},
            r"labels\[1\]: '0 ' and '0' differ in white space alone",
        ),
        ({"kind": "classification", "labels": ["a", "b", "a"]}, r"labels\[2\]: 'a' is there twice"),
        ({"kind": "pair_regression", "labels": ["a"]}, "labels: expected none for pair_regression"),
        (
            {"kind": "classification", "labels": ["a"], "metric": "pearson"},
            "metric: expected one of accuracy, matthews, macro_f1, balanced_accuracy for "
            "classification, got 'pearson'",
        ),
        ({"kind": "regression", "labels": ["a"]}, "labels: expected none for regression"),
        ({"kind": "pair_regression", "metric": "accuracy"}, "metric: expected one of pearson for"),
        (
            {"kind": "tagging", "labels": TAGS, "scheme": "IOB3"},
            "scheme: expected one of IOB1, IOB2, BIOES, words, got 'IOB3'",
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
        (
            {"kind": "multilabel_classification", "labels": ["a", "b|c"]},
            r"labels\[1\]: expected a label without \|, .*got 'b\|c'; rename it",
        ),
        (
            {"kind": "multilabel_classification", "labels": ["a "]},
            r"labels\[0\]: expected a label without white space around it, got 'a '",
        ),
        (
            {"kind": "classification", "labels": ["a"], "thresholds": [0.5]},
            "thresholds: expected none for classification",
        ),
        *(
            (
                {"kind": "multilabel_classification", "labels": ["a", "b"], "thresholds": given},
                "thresholds: expected 2 numbers above 0 and at most 1, one for each label, got",
            )
            for given in (0.5, [0.5], [0.5, 0.0], [0.5, 1.5], [0.5, float("nan")], ["x", 0.5])
        ),
    ],
)
def test_a_wrong_argument_is_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        Task(**arguments)


@pytest.mark.parametrize(
    ("kind", "outputs", "loss", "metrics", "texts"),
    [
        ("classification", 2, CrossEntropy, OF_CLASSES, ONE_TEXT),
        ("pair_classification", 2, CrossEntropy, OF_CLASSES, TWO_TEXTS),
        ("pair_regression", 1, SquaredError, ["pearson"], TWO_TEXTS),
        (
            "multilabel_classification",
            2,
            BinaryCrossEntropy,
            ["micro_f1", "macro_f1"],
            ONE_TEXT,
        ),
        ("regression", 1, SquaredError, ["pearson"], ONE_TEXT),
        ("tagging", 3, CrossEntropy, ["span_f1", "strict_span_f1"], ("words",)),
    ],
)
def test_what_belongs_to_a_kind(kind, outputs, loss, metrics, texts):
    task = make(kind)
    assert KINDS[kind].texts == texts
    assert task.num_outputs == outputs
    assert type(task.loss) is loss
    assert [metric.name for metric in task.metrics] == metrics
    assert task.metric == metrics[0]
    assert task.loss is not task.loss
    assert task.metrics[0] is not task.metrics[0]


def test_every_kind_is_covered_here():
    with_heads = {"classification", "pair_classification", "tagging"}
    with_heads |= {"regression", "pair_regression", "multilabel_classification"}
    with_heads |= {"span_extraction"}
    assert with_heads | {"dialog", "text_generation"} == set(labelled_kinds())
    others = {"dialog", "text_generation", "language_model"}
    assert set(KINDS) == set(keras_kinds.KINDS) == with_heads | others
    for kind, row in KINDS.items():
        named = {
            *row.metrics,
            *(name for names in row.metrics_of_schemes.values() for name in names),
        }
        in_keras = set(keras_kinds.KINDS[kind].metrics or ANSWER_METRICS)
        assert named - set(ROUGE) == in_keras, "ROUGE needs the texts"
    rows = heads_of_kinds.KINDS
    assert {kind for kind, row in rows.items() if row.heads} == with_heads
    assert {name for row in rows.values() for name in row.heads} == set(HEADS)


def test_span_extraction_has_neither_labels_nor_keras_metrics():
    task = make("span_extraction")
    assert (KINDS[task.kind].texts, task.num_outputs) == (TWO_TEXTS, 2)
    assert type(task.loss) is SpanCrossEntropy
    assert (task.metric, task.metrics, task.spans) == ("f1", [], SpanSearch())
    assert Task("span_extraction", metric="exact_match").metric == "exact_match"
    with pytest.raises(ConfigError, match="labels: expected none for span_extraction"):
        Task("span_extraction", ["a"])
    with pytest.raises(ConfigError, match="spans: expected none for regression"):
        Task("regression", spans=SpanSearch())


def test_a_language_model_has_neither_labels_nor_head():
    task = Task("language_model")
    assert (KINDS[task.kind].texts, KINDS[task.kind].target) == (ONE_TEXT, None)
    assert type(task.loss) is LanguageModelLoss
    assert [metric.name for metric in task.metrics] == [task.metric] == ["perplexity"]
    assert Task.from_config(task.get_config()) == task
    with pytest.raises(ConfigError, match="labels: expected none for language_model"):
        Task("language_model", ["a"])
    with pytest.raises(ConfigError, match="head: a language model has its module's own output"):
        build_head("default", task, "bert", frozen=False)


def test_the_metrics_know_the_task():
    task = Task("classification", ["a", "b", "c"], metric="matthews")
    assert [metric.name for metric in task.metrics][:2] == ["matthews", "accuracy"]
    assert isinstance(task.metrics[0], MatthewsCorrelation)
    assert task.metrics[0].num_classes == 3
    tagging = Task("tagging", ["O", "S-A"], scheme="BIOES").metrics
    for metric, strict in zip(tagging, (False, True), strict=True):
        assert isinstance(metric, SpanF1)
        assert (metric.labels, metric.scheme, metric.strict) == (["O", "S-A"], "BIOES", strict)
    by_strict = Task("tagging", ["O", "S-A"], metric="strict_span_f1", scheme="BIOES").metrics
    assert [metric.name for metric in by_strict] == ["strict_span_f1", "span_f1"]
    assert isinstance(Task("pair_regression").metrics[0], PearsonCorrelation)


@pytest.mark.parametrize(
    "task",
    [
        Task("classification", ["a", "b"], metric="matthews"),
        Task("pair_regression", label_range=[0, 5]),
        Task("tagging", ["O", "B-PER-X"], scheme="IOB1"),
        Task("tagging", ["NN", "O"], scheme="words"),
        Task("multilabel_classification", ["a", "b"], thresholds=[0.25, 0.5]),
        Task("span_extraction", spans=SpanSearch(64, n_best=2, no_answer_threshold=-1.0)),
    ],
)
def test_a_task_is_a_value_and_survives_serialization(task):
    config = keras.saving.serialize_keras_object(task)
    again = keras.saving.deserialize_keras_object(config)
    assert again == task
    assert hash(again) == hash(task)
    expected = {"kind", "labels", "metric", "scheme", "label_range", "thresholds", "spans"}
    assert set(task.get_config()) == expected | {"temperature"}


# Kind, family → what Peters, Ruder and Smith put on a frozen encoder, and on one that is tuned:
# class, then what tells apart the heads of that class.
PAPER = {
    ("classification", "elmo"): (("BCN", {}), ("MaxPoolingHead", {"pair": False})),
    ("classification", "bert"): (("BCN", {}), ("LinearHead", {"regression": False})),
    ("pair_classification", "elmo"): (("ESIM", {"regression": False}), ("BiAttentionHead", {})),
    ("pair_classification", "bert"): (("ESIM", {}), ("LinearHead", {})),
    ("pair_regression", "elmo"): (
        ("ESIM", {"regression": True}),
        ("BiAttentionHead", {"regression": True}),
    ),
    ("pair_regression", "bert"): (
        ("ESIM", {"regression": True}),
        ("LinearHead", {"regression": True}),
    ),
    # Not the paper's: those of its other task on a single text.
    ("multilabel_classification", "elmo"): (
        ("BCN", {"regression": False}),
        ("MaxPoolingHead", {"pair": False}),
    ),
    ("multilabel_classification", "bert"): (("BCN", {}), ("LinearHead", {"regression": False})),
    ("regression", "elmo"): (
        ("BCN", {"regression": True}),
        ("MaxPoolingHead", {"pair": False, "regression": True}),
    ),
    ("regression", "bert"): (("BCN", {"regression": True}), ("LinearHead", {"regression": True})),
    ("span_extraction", "elmo"): (("SpanExtractor", {"hidden_layer": True}),) * 2,
    ("span_extraction", "bert"): (("SpanExtractor", {"hidden_layer": False}),) * 2,
    ("tagging", "elmo"): (
        ("Tagger", {"lstm_layers": 2, "crf": True}),
        ("Tagger", {"lstm_layers": 0, "crf": True}),
    ),
    ("tagging", "bert"): (
        ("Tagger", {"lstm_layers": 2, "crf": False}),
        ("Tagger", {"lstm_layers": 0, "crf": False}),
    ),
}


@pytest.mark.parametrize(("kind", "family"), PAPER)
def test_default_heads_are_the_papers(kind, family):
    task = make(kind)
    for frozen, (expected, arguments) in zip((True, False), PAPER[kind, family], strict=True):
        head = build_head("default", task, family, frozen)
        assert type(head).__name__ == expected
        assert getattr(head, "num_outputs", 2) == task.num_outputs
        assert {name: getattr(head, name) for name in arguments} == arguments
        # Frozen layers are mixed; of a tuned encoder the top one is read.
        assert getattr(head, "mixed", frozen) == frozen


def test_every_kind_and_family_has_a_default_and_the_papers_where_it_has_one():
    for kind in labelled_kinds():
        row = heads_of_kinds.KINDS[kind]
        assert set(row.defaults) == ({"bert", "elmo"} if row.heads else set())
        assert {name for pair in row.defaults.values() for name in pair} <= set(row.heads)
    for (kind, family), names in PAPER_HEADS.items():
        assert heads_of_kinds.KINDS[kind].defaults[family] == names


def test_the_config_knows_every_head():
    assert set(HEAD_NAMES) == {"default", *HEADS}
    tagging = Task("tagging", labels=["O"])
    taggers = {n for n, head in HEADS.items() if "lstm_layers" in head.arguments(tagging)}
    assert set(LSTM_HEADS) == taggers | {
        n for n, head in HEADS.items() if head.layer in (BCN, ESIM)
    }
    assert set(CRF_HEADS) == {n for n, head in HEADS.items() if "crf" in head.arguments(tagging)}


def test_sizes_reach_the_head_and_their_defaults_are_the_published_ones():
    task = make("pair_classification")
    assert build_head("esim", task, "elmo", frozen=True).get_config()["units"] == 300
    small = build_head("esim", task, "elmo", frozen=True, dropout=0.2, units=7)
    assert (small.units, small.dropout) == (7, 0.2)
    tagger = build_head("bilstm_crf", make("tagging"), "elmo", frozen=True)
    assert (tagger.units, tagger.dropout, tagger.lstm_layers) == (200, 0.5, 2)
    assert build_head("bilstm", make("tagging"), "bert", True, units=9).units == 9
    for kind, name in (("pair_classification", "bi_attention"), ("tagging", "crf")):
        with pytest.raises(ConfigError, match=f"head_units: expected none for the head {name}"):
            build_head(name, make(kind), "bert", frozen=True, units=9)


def test_a_crf_gets_the_constraints_of_the_scheme():
    task = make("tagging")
    head = build_head("crf", task, "elmo", frozen=False)
    assert head.constraints == tag_constraints(task.labels, task.scheme)


def test_an_unknown_head_or_family_is_refused():
    task = make("classification")
    message = (
        "head: expected one of default, linear, bcn, concat_pooling for classification, got 'bcn2'"
    )
    with pytest.raises(ConfigError, match=message):
        build_head("bcn2", task, "bert", frozen=True)
    with pytest.raises(ConfigError, match="got 'crf', which is for tagging"):
        build_head("crf", task, "elmo", frozen=True)
    with pytest.raises(ConfigError, match="'esim', which is for pair_classification and pair_reg"):
        build_head("esim", task, "elmo", frozen=True)
    with pytest.raises(ConfigError, match="family: expected one of bert, elmo, .*, got 'gpt'"):
        build_head("default", task, "gpt", frozen=True)
