"""Scores as functions of sums: against scikit-learn, SciPy, seqeval and brute force."""

import numpy as np
import pytest
import seqeval.scheme
from scipy.stats import pearsonr
from seqeval.metrics import f1_score
from sklearn.metrics import accuracy_score, balanced_accuracy_score, matthews_corrcoef
from sklearn.metrics import f1_score as label_f1

from tf_adapt.data.labels import scheme_tags
from tf_adapt.statistics.scores import (
    Summary,
    item_statistics,
    of_groups,
    pseudo_values,
    score_of,
    summary,
)

LABELS = ["contradiction", "entailment", "neutral"]
SEQEVAL = {"IOB1": seqeval.scheme.IOB1, "IOB2": seqeval.scheme.IOB2, "BIOES": seqeval.scheme.IOBES}


def seqeval_f1(gold, predicted):
    return f1_score(gold, predicted, zero_division=0)


def strict_seqeval_f1(gold, predicted, scheme="IOB2"):
    return f1_score(gold, predicted, mode="strict", scheme=SEQEVAL[scheme], zero_division=0)


def set_f1(gold, predicted, average):
    rows = [[[label in one for label in LABELS] for one in sets] for sets in (gold, predicted)]
    return label_f1(*rows, average=average, zero_division=0)


# What each metric is elsewhere, of (gold, predictions).
ORACLES = {
    "accuracy": accuracy_score,
    "matthews": matthews_corrcoef,
    "balanced_accuracy": balanced_accuracy_score,
    "pearson": lambda gold, predicted: pearsonr(gold, predicted).statistic,
    "span_f1": seqeval_f1,
    "strict_span_f1": strict_seqeval_f1,
    "micro_f1": lambda gold, predicted: set_f1(gold, predicted, "micro"),
    "macro_f1": lambda gold, predicted: set_f1(gold, predicted, "macro"),
}


def example(metric, seed, items=40):
    """Gold answers and predictions that are right more often than not."""
    random = np.random.default_rng(seed)
    if metric == "pearson":
        gold = random.uniform(1, 5, items)
        return gold, gold + random.normal(size=items)
    if metric in ("span_f1", "strict_span_f1"):
        tags = scheme_tags(["LOC", "PER"], "IOB2")
        gold = [random.choice(tags, random.integers(1, 9)).tolist() for _ in range(items)]
        return gold, [[blurred(tag, tags, random) for tag in sentence] for sentence in gold]
    if metric in ("micro_f1", "macro_f1"):
        gold = random.random((items, len(LABELS))) < [0.1, 0.3, 0.6]
        said = gold ^ (random.random(gold.shape) < 0.2)
        return [[tuple(np.array(LABELS)[row]) for row in rows] for rows in (gold, said)]
    gold = random.choice(LABELS, items, p=[0.1, 0.3, 0.6])
    return gold, np.array([blurred(label, LABELS, random) for label in gold])


def blurred(answer, answers, random):
    return answer if random.random() < 0.7 else str(random.choice(answers))


def statistics_of(metric, gold, predicted):
    return item_statistics(metric, predicted, gold, labels=LABELS, scheme="IOB2")


def test_sums_of_groups_by_pencil():
    found = of_groups(np.array([[1, 2], [3, 4], [5, 6], [7, 8]]), np.array([1, 0, 1, 1]))
    assert found.tolist() == [[3, 4], [13, 16]]


def test_summary_by_pencil():
    # Mean 4, squares of the distances 4 + 1 + 9 = 14, over n − 1 = 2.
    expected = Summary(mean=4.0, deviation=pytest.approx(7**0.5), min=2.0, max=7.0)
    assert summary([2, 3, 7]) == expected
    assert summary([0.5]) == Summary(mean=0.5, deviation=None, min=0.5, max=0.5)
    with pytest.raises(ValueError, match="expected at least one, got none"):
        summary([])


@pytest.mark.parametrize("metric", ORACLES)
def test_scores_are_those_of_other_libraries(metric):
    for seed in range(20):
        gold, predicted = example(metric, seed)
        statistics = statistics_of(metric, gold, predicted)
        assert statistics.dtype == np.float64
        score = score_of(metric, statistics.sum(axis=0))
        assert score == pytest.approx(ORACLES[metric](gold, predicted), abs=1e-12)


@pytest.mark.parametrize("metric", ORACLES)
def test_scores_of_many_sums_at_once(metric):
    runs = [example(metric, seed) for seed in range(6)]
    sums = np.stack([statistics_of(metric, *run).sum(axis=0) for run in runs])
    scores = score_of(metric, sums.reshape(2, 3, -1))
    expected = [ORACLES[metric](*run) for run in runs]
    np.testing.assert_allclose(scores, np.reshape(expected, (2, 3)), atol=1e-12)


@pytest.mark.parametrize("metric", ORACLES)
def test_pseudo_values_leave_out_one_item(metric):
    gold, predicted = example(metric, 1, items=12)
    full = ORACLES[metric](gold, predicted)
    expected = []
    for out in range(12):
        rest = [place for place in range(12) if place != out]
        without = ORACLES[metric](*([side[place] for place in rest] for side in (gold, predicted)))
        expected.append(12 * full - 11 * without)
    found = pseudo_values(metric, np.stack([statistics_of(metric, gold, predicted)] * 2))
    np.testing.assert_allclose(found, [expected, expected], atol=1e-12)


def test_pseudo_values_of_accuracy_are_right_and_wrong():
    statistics = item_statistics("accuracy", [3, 1, 2, 2], [3, 2, 2, 0])
    np.testing.assert_allclose(pseudo_values("accuracy", statistics), [1, 0, 1, 0], atol=1e-14)


def test_the_accuracy_of_tags_counts_words():
    gold, said = [["NN", "VB", "DT"], ["NN"]], [["NN", "NN", "DT"], ["VB"]]
    statistics = item_statistics("accuracy", said, gold, scheme="words")
    assert statistics.tolist() == [[2, 3], [0, 1]]
    assert score_of("accuracy", statistics.sum(axis=0)) == 0.5


@pytest.mark.parametrize("scheme", SEQEVAL)
def test_both_span_f1_in_every_scheme(scheme):
    random = np.random.default_rng(3)
    tags = scheme_tags(["LOC", "PER"], scheme)
    gold, predicted = ([random.choice(tags, 7).tolist() for _ in range(200)] for _ in range(2))
    strict = strict_seqeval_f1(gold, predicted, scheme)
    expected = {"span_f1": seqeval_f1(gold, predicted), "strict_span_f1": strict}
    assert abs(expected["span_f1"] - strict) > 0.01
    for metric, score in expected.items():
        statistics = item_statistics(metric, predicted, gold, scheme=scheme)
        assert score_of(metric, statistics.sum(axis=0)) == pytest.approx(score, abs=1e-12)


def test_correlation_of_numbers_far_from_zero():
    gold, predicted = example("pearson", 0)
    statistics = item_statistics("pearson", predicted + 1e5, gold + 1e5)
    expected = pearsonr(gold, predicted).statistic
    # 1e5 in float64 has steps of 1.5e-11; sums of squares that are not centred have such of 1e-5.
    assert score_of("pearson", statistics.sum(axis=0)) == pytest.approx(expected, abs=1e-10)


UNDEFINED = {
    "one class predicted": ("matthews", ["neutral"] * 3, LABELS),
    "one class true": ("matthews", LABELS, ["neutral"] * 3),
    "constant prediction": ("pearson", np.full(3, 0.1, np.float32), [1.0, 2.0, 3.0]),
    "constant but for rounding": ("pearson", [0.3, 0.1 + 0.2, 0.3], [1.0, 2.0, 3.0]),
    "constant in float32": ("pearson", [1.0, 1.0 + 1e-8, 1.0 - 2e-8], [1.0, 2.0, 3.0]),
    "constant gold": ("pearson", [1.0, 2.0, 3.0], [0.7] * 3),
    "no entity": ("span_f1", [["O", "O"]], [["O", "O"]]),
    "no strict entity": ("strict_span_f1", [["I-PER", "O"]], [["O", "I-LOC"]]),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_where_undefined_a_score_is_zero(name):
    metric, predicted, gold = UNDEFINED[name]
    statistics = statistics_of(metric, gold, predicted)
    assert score_of(metric, statistics.sum(axis=0)) == 0
    np.testing.assert_array_equal(pseudo_values(metric, statistics), np.zeros(len(gold)))


def test_a_correlation_that_hangs_on_one_item():
    random = np.random.default_rng(4)
    for items in range(4, 60):
        predicted, gold = np.full(items, random.normal()), random.normal(size=items)
        predicted[-1] += random.normal()
        statistics = item_statistics("pearson", predicted, gold)
        # Without the last item the predictions are constant, but for the rounding of the sums.
        assert score_of("pearson", statistics.sum(axis=0) - statistics[-1]) == 0
        full = pearsonr(predicted, gold).statistic
        assert pseudo_values("pearson", statistics)[-1] == pytest.approx(items * full)


def test_a_perfect_correlation_is_not_above_one():
    random = np.random.default_rng(5)
    for _ in range(100):
        gold = random.normal(size=20)
        score = score_of("pearson", item_statistics("pearson", 3 * gold + 1, gold).sum(axis=0))
        assert 1 - 1e-12 < score <= 1


def test_macro_f1_of_single_labels():
    gold, predicted = example("accuracy", 5)
    sums = item_statistics("macro_f1", predicted, gold, LABELS).sum(0)
    assert score_of("macro_f1", sums) == pytest.approx(
        label_f1(gold, predicted, average="macro", labels=LABELS, zero_division=0)
    )


def test_a_label_without_examples_has_no_recall():
    sums = item_statistics("balanced_accuracy", ["a", "b", "a"], ["a", "a", "b"], "abc").sum(0)
    assert score_of("balanced_accuracy", sums) == (1 / 2 + 0) / 2


@pytest.mark.slow
def test_undefined_scores_are_those_of_the_metrics_of_training():
    from tf_adapt.tasks.class_metrics import MatthewsCorrelation
    from tf_adapt.tasks.metrics import PearsonCorrelation

    for metric, predicted, gold in UNDEFINED.values():
        if metric == "matthews":
            streaming = MatthewsCorrelation(3)
            logits = np.eye(3)[[LABELS.index(label) for label in predicted]]
            streaming.update_state([LABELS.index(label) for label in gold], logits)
        elif metric == "pearson":
            streaming = PearsonCorrelation()
            streaming.update_state(np.float32(gold), np.float32(predicted))
        else:
            continue
        assert float(streaming.result()) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("f2", [1], [1]), "metric: expected one of accuracy, .*got 'f2'"),
        (("accuracy", [1], [1, 2]), "expected one for each of 2 test items .*got 1"),
        (("accuracy", [], []), "at least one"),
        (("matthews", ["yes"], ["no"], ["no"]), "expected all that occur, yes are missing"),
        (("matthews", ["no"], ["no"]), "expected all that occur, no are missing"),
        (("pearson", [np.nan, 1], [1, 2]), "expected finite numbers"),
        (("span_f1", [["O"]], [["O", "O"]], None, "IOB2"), "expected 2 tags, got 1"),
        (("span_f1", [["O"]], [["O"]], None, "IOB"), "scheme: expected one of IOB1, .*got 'IOB'"),
        (("strict_span_f1", [["O"]], [["O"]]), "scheme: expected one of IOB1, .*got None"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        item_statistics(*arguments)


def test_answers_are_means_of_their_scores():
    said, gold = ["Denver Broncos", "", "the cat"], [("Broncos",), (), ("dog", "A cat!")]
    for metric, expected in (("exact_match", [0, 1, 1]), ("f1", [2 / 3, 1, 1])):
        rows = item_statistics(metric, said, gold)
        np.testing.assert_allclose(rows, np.stack([expected, np.ones(3)], axis=1))
        np.testing.assert_allclose(score_of(metric, rows.sum(0)), np.mean(expected))
        np.testing.assert_allclose(pseudo_values(metric, rows), expected)
