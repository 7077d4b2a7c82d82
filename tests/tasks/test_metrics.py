"""Metrics against scikit-learn, SciPy and seqeval, on streams of batches."""

import keras
import numpy as np
import pytest
import seqeval.scheme
import tensorflow as tf
from scipy.stats import pearsonr
from seqeval.metrics import f1_score
from sklearn.metrics import balanced_accuracy_score, matthews_corrcoef
from sklearn.metrics import f1_score as label_f1

from tf_adapt.data.labels import scheme_tags
from tf_adapt.tasks.class_metrics import BalancedAccuracy, MacroF1, MatthewsCorrelation
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

SEQEVAL = {
    "IOB1": seqeval.scheme.IOB1,
    "IOB2": seqeval.scheme.IOB2,
    "BIOES": seqeval.scheme.IOBES,
}


def score(metric, batches, jit_compile=None):
    update = tf.function(
        lambda targets, outputs: metric.update_state(targets, outputs),
        jit_compile=jit_compile,
        reduce_retracing=True,
    )
    for targets, outputs in batches:
        update(tf.constant(targets), tf.constant(outputs))
    return float(metric.result())


def cut(targets, outputs, seed):
    """The examples in another order, in batches of unequal sizes."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(targets))
    for part in np.split(order, np.sort(random.integers(0, len(order), size=5))):
        yield targets[part], outputs[part]


OF_CLASSES = {
    MatthewsCorrelation: matthews_corrcoef,
    MacroF1: lambda true, said: label_f1(true, said, average="macro", zero_division=0),
    BalancedAccuracy: balanced_accuracy_score,
}


@pytest.mark.parametrize(
    "metric, num_classes",
    [(MatthewsCorrelation, 2), (MatthewsCorrelation, 6), *((metric, 3) for metric in OF_CLASSES)],
)
def test_scores_of_classes_equal_scikit_learn(metric, num_classes):
    for skill in (0.0, 1.5, -1.5, 20.0):
        random = np.random.default_rng(num_classes)
        targets = random.integers(0, num_classes, size=(200, 2)).min(axis=1)  # uneven classes
        logits = random.normal(size=(200, num_classes)) + skill * np.eye(num_classes)[targets]
        got = score(metric(num_classes), cut(targets, logits, 0))
        assert got == pytest.approx(OF_CLASSES[metric](targets, logits.argmax(-1)), abs=1e-6)


def test_a_class_without_examples():
    """It counts as 0 in the mean of F1, and not in that of recalls."""
    batch = [(np.array([0, 1, 1, -1]), np.eye(3)[[0, 1, 0, 2]])]
    assert score(MacroF1(3), batch) == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert score(BalancedAccuracy(3), batch) == pytest.approx((1 + 1 / 2) / 2)
    assert score(MacroF1(3), []) == score(BalancedAccuracy(3), []) == 0


def test_matthews_is_zero_where_undefined_and_ignores_padding():
    logits = np.eye(3)[[1, 1, 1]]
    assert score(MatthewsCorrelation(3), [(np.array([0, 1, 2]), logits)]) == 0
    assert score(MatthewsCorrelation(3), [(np.array([1, 1, 1]), logits)]) == 0
    assert score(MatthewsCorrelation(3), []) == 0
    targets, logits = np.array([0, 1, -1]), np.eye(3)[[0, 1, 2]]
    assert score(MatthewsCorrelation(3), [(targets, logits)], jit_compile=True) == 1


def test_matthews_with_weights_equals_scikit_learn():
    random = np.random.default_rng(3)
    targets, logits = random.integers(0, 3, size=50), random.normal(size=(50, 3))
    weights = random.uniform(size=50)
    metric = MatthewsCorrelation(3)
    metric.update_state(targets, logits, weights)
    expected = matthews_corrcoef(targets, logits.argmax(-1), sample_weight=weights)
    assert float(metric.result()) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("mean", [0, 3, 1e3, -3e4])
@pytest.mark.parametrize("correlation", [-1.0, -0.3, 0.9999])
def test_pearson_equals_scipy(mean, correlation):
    random = np.random.default_rng(5)
    x, noise = random.normal(size=(2, 1000))
    y = correlation * x + np.sqrt(1 - correlation**2) * noise
    x, y = (x + mean).astype("float32"), (2 * y - mean).astype("float32")
    expected = pearsonr(x.astype("float64"), y.astype("float64"))[0]
    for seed in range(3):
        got = score(PearsonCorrelation(), cut(x, y, seed))
        assert got == pytest.approx(expected, abs=1e-6)


def test_pearson_is_zero_where_undefined():
    rising = np.linspace(0, 5, 100, dtype="float32")
    for constant in (0.0, 0.1, 3.3, 1e4):
        flat = np.full(100, constant, "float32")
        assert score(PearsonCorrelation(), [(rising, flat)], jit_compile=True) == 0
        assert score(PearsonCorrelation(), [(flat, rising)]) == 0
    assert score(PearsonCorrelation(), [(rising[:1], rising[:1])]) == 0
    # The limit is a deviation of 1e-6 of the root mean square, whatever the number of values.
    around = np.tile([-1.0, 1.0], 50)
    for deviation, expected in ((5e-7, 0), (2e-6, 1)):
        near = 30 * (1 + deviation * around)
        assert score(PearsonCorrelation(), [(near, around)]) == pytest.approx(expected, abs=1e-3)
        assert score(PearsonCorrelation(), [(around, near)]) == pytest.approx(expected, abs=1e-3)
    assert score(PearsonCorrelation(), []) == 0


def test_pearson_in_float64_is_within_one():
    """Rounding alone takes it to 1.0000000000000002 for many of these."""
    for seed in range(40):
        x = np.random.default_rng(seed).normal(size=7)
        for factor in (-3.0, 3.0):
            metric = PearsonCorrelation(dtype="float64")
            metric.update_state(x, factor * x)
            assert -1.0 <= float(metric.result()) <= 1.0


def test_pearson_with_weights_repeats_examples():
    random = np.random.default_rng(6)
    x, y = random.normal(size=(2, 20)).astype("float32")
    weights = random.integers(0, 4, size=20)
    metric = PearsonCorrelation()
    metric.update_state(x, y, weights)
    expected = pearsonr(x.repeat(weights), y.repeat(weights))[0]
    assert float(metric.result()) == pytest.approx(expected, abs=1e-6)


def random_tags(random, tags, count):
    """Sequences of 0 to 12 tags, from pure noise to long runs of one type."""
    sequences = []
    for _ in range(count):
        stay = random.choice([0.0, 0.5, 0.9])
        sequence = []
        for _ in range(random.integers(0, 13)):
            kind = sequence[-1][1:] if sequence and random.random() < stay else None
            choices = [tag for tag in tags if tag[1:] == kind] or tags
            sequence.append(str(random.choice(choices)))
        sequences.append(sequence)
    return sequences


def padded(sequences, labels, extra):
    width = max(map(len, sequences), default=0) + extra
    ids = [[labels.index(tag) for tag in tags] for tags in sequences]
    return np.array([row + [-1] * (width - len(row)) for row in ids], "int32")


def logits_of(ids, labels, random):
    """Logits whose largest is at `ids`, with noise at padding."""
    noise = random.integers(0, len(labels), size=ids.shape)
    return np.eye(len(labels), dtype="float32")[np.where(ids >= 0, ids, noise)]


def seqeval_f1(true, predicted, scheme, strict):
    if strict:
        return f1_score(true, predicted, mode="strict", scheme=SEQEVAL[scheme], zero_division=0)
    return f1_score(true, predicted, zero_division=0)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("scheme", SEQEVAL)
def test_span_f1_equals_seqeval(scheme, strict):
    random = np.random.default_rng(8)
    labels = scheme_tags(["A", "B", "C-D"], scheme)
    for _ in range(2):
        random.shuffle(labels)
        true = random_tags(random, labels, 500)
        predicted = [
            [tag if random.random() < 0.8 else str(random.choice(labels)) for tag in tags]
            for tags in true
        ]
        batches = []
        # The last two: a sentence by itself, and all the others with one that is only padding.
        for start, end in ((0, 100), (100, 200), (200, 300), (300, 301), (301, 500)):
            targets = padded(true[start:end], labels, extra=start // 100)
            ids = padded(predicted[start:end], labels, extra=start // 100)
            if end == 500:
                targets = np.concatenate([targets, np.full_like(targets[:1], -1)])
                ids = np.concatenate([ids, np.full_like(ids[:1], -1)])
            batches.append((targets, logits_of(ids, labels, random)))
        got = score(SpanF1(labels, scheme, strict=strict), batches)
        expected = seqeval_f1(true, predicted, scheme, strict)
        assert got == pytest.approx(expected, abs=1e-7)
        assert 0.1 < expected < 0.95
        other = seqeval_f1(true, predicted, scheme, not strict)
        assert other != pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("scheme", SEQEVAL)
def test_span_f1_of_one_sentence_equals_seqeval(scheme, strict):
    random = np.random.default_rng(10)
    labels = scheme_tags(["A", "B"], scheme)
    metric = SpanF1(labels, scheme, strict=strict)
    update = tf.function(metric.update_state, reduce_retracing=True)
    for true in random_tags(random, labels, 75):
        predicted = [tag if random.random() < 0.6 else str(random.choice(labels)) for tag in true]
        targets, ids = padded([true], labels, extra=2), padded([predicted], labels, extra=2)
        metric.reset_state()
        update(tf.constant(targets), tf.constant(logits_of(ids, labels, random)))
        # seqeval refuses a sentence without words.
        expected = seqeval_f1([true], [predicted], scheme, strict) if true else 0
        assert float(metric.result()) == pytest.approx(expected, abs=1e-7), (true, predicted)


def test_a_stray_inside_by_pencil():
    labels = ["O", "B-A", "I-A", "I-B"]
    # True A 0–2 and A 3–4; predicted, with a stray `I` each, A 0–2 and B 3–4.
    targets = np.array([[1, 2, 0, 1, -1], [-1] * 5], "int32")
    logits = np.eye(4)[[[2, 2, 0, 3, 3], [1, 2, 3, 0, 0]]]
    assert score(SpanF1(labels, "IOB2"), [(targets, logits)]) == pytest.approx(2 / 4)
    assert score(SpanF1(labels, "IOB2", strict=True), [(targets, logits)]) == 0


@pytest.mark.parametrize("strict", [False, True])
def test_n2_span_f1_without_entities_is_zero(strict):
    labels = ["O", "B-A", "I-A"]
    outside, inside = np.zeros((2, 3), "int32"), np.full((2, 3), 1, "int32")
    none, logits = np.full((2, 3), -1, "int32"), np.eye(3)
    for batches in (
        [],
        [(outside, logits[outside])],
        [(inside, logits[outside])],
        [(none, logits[inside])],
        [(np.zeros((2, 0), "int32"), np.zeros((2, 0, 3)))],
    ):
        assert score(SpanF1(labels, "IOB2", strict=strict), batches) == 0


def test_span_f1_refuses_an_unknown_scheme():
    with pytest.raises(ValueError, match="expected one of .*BIOES.*got 'IOB3'"):
        SpanF1(["O"], "IOB3")


def test_span_f1_has_the_name_of_what_it_counts():
    assert SpanF1(["O"], "IOB2").name == "span_f1"
    assert SpanF1(["O"], "IOB2", strict=True).name == "strict_span_f1"


def test_a_span_f1_written_before_it_could_be_other_than_strict():
    written = {
        "module": "tf_adapt.tasks.metrics",
        "class_name": "SpanF1",
        "config": {
            "name": "span_f1",
            "dtype": "float32",
            "labels": ["O", "B-A", "I-A"],
            "scheme": "IOB2",
        },
        "registered_name": "tf_adapt>SpanF1",
    }
    metric = keras.metrics.deserialize(written)
    assert (metric.name, metric.strict) == ("span_f1", False)
    assert score(metric, [(np.array([[1, 2]]), np.eye(3)[[[2, 2]]])]) == 1


def test_the_accuracy_of_words_ignores_padding():
    targets, logits = np.array([[0, 1, 1], [2, -1, -1]]), np.eye(3)[[[0, 0, 1], [1, 0, 2]]]
    assert score(WordAccuracy(), [(targets, logits)]) == 0.5
    metric = WordAccuracy()
    metric.update_state(targets, logits, sample_weight=[1.0, 0.0])
    assert float(metric.result()) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "metric",
    [
        *(metric(3, name="mine") for metric in OF_CLASSES),
        PearsonCorrelation(name="mine"),
        Perplexity(name="mine"),
        ReplyPerplexity(name="mine"),
        LogProbability(name="mine"),
        RightReplies(name="mine"),
        WordAccuracy(name="mine"),
        SpanF1(["O", "S-A"], "BIOES", name="mine"),
        SpanF1(["O", "S-A"], "BIOES", name="mine", strict=True),
    ],
)
def test_a_metric_survives_serialization_and_reset(metric):
    again = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(again) is type(metric)
    assert again.get_config() == metric.get_config()
    for variable in again.variables:
        variable.assign(tf.ones(variable.shape, variable.dtype))
    again.reset_state()
    assert all((variable.numpy() == 0).all() for variable in again.variables)


@pytest.mark.parametrize("average", ["micro", "macro"])
@pytest.mark.parametrize("thresholds", [None, [0.2, 0.5, 0.7, 0.9, 0.5]])
def test_f1_of_label_sets_equals_scikit_learn(average, thresholds):
    random = np.random.default_rng(7)
    targets = random.random((200, 5)) < [0.5, 0.3, 0.1, 0.05, 0.0]
    logits = (random.normal(size=(200, 5)) + 2 * targets - 1).astype("float32")
    logits[:, 4] = -5  # neither true nor predicted anywhere
    metric = LabelSetF1(average, 5, thresholds)
    got = score(metric, cut(targets.astype("float32"), logits, 0))
    predicted = 1 / (1 + np.exp(-logits)) >= np.array(thresholds or 0.5, "float32")
    assert got == pytest.approx(
        label_f1(targets, predicted, average=average, zero_division=0), abs=1e-6
    )
    again = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert again.get_config() == metric.get_config()


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_f1_of_label_sets_is_zero_where_there_is_nothing_and_weighs_examples(average):
    nothing = np.zeros((2, 3), "float32")
    assert score(LabelSetF1(average, 3), []) == 0
    assert score(LabelSetF1(average, 3), [(nothing, nothing - 9)], jit_compile=True) == 0
    targets, logits = np.array([[1, 0], [0, 1]]), np.array([[9.0, 9.0], [-9.0, 9.0]])
    weighted, repeated = LabelSetF1(average, 2), LabelSetF1(average, 2)
    weighted.update_state(targets, logits, sample_weight=[1.0, 3.0])
    repeated.update_state(targets[[0, 1, 1, 1]], logits[[0, 1, 1, 1]])
    assert float(weighted.result()) == float(repeated.result())
    with pytest.raises(ValueError, match="average: expected micro or macro, got 'mean'"):
        LabelSetF1("mean", 2)


def test_perplexity_is_of_the_real_targets():
    assert np.isnan(Perplexity().result())
    # −1: no target; 0: a target of probability 1.
    batches = [([0, 0], [[np.log(8), -1.0], [0.0, 0.0]]), ([0], [[np.log(2), -1.0]])]
    assert score(Perplexity(), batches) == pytest.approx(2)


def test_replies_are_scored_by_their_tokens_and_by_their_words():
    # Sum of −log p and number of tokens of each reply; its words are the target.
    batches = [([2, 1], [[np.log(16), 3.0], [0.0, 1.0]]), ([1], [[np.log(16), 4.0]])]
    assert score(ReplyPerplexity(), batches) == pytest.approx(2)
    assert score(LogProbability(), batches) == pytest.approx(-np.log(4))
