"""Scores of slices against scikit-learn, the test against sums written out, Holm, error rates."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from tf_adapt.statistics.metrics import METRICS
from tf_adapt.statistics.scores import item_statistics, pseudo_values
from tf_adapt.statistics.slice_score import SliceScore
from tf_adapt.statistics.slices import is_defined, slice_score, with_challenging
from tf_adapt.tasks.by_kind.text_generation import ROUGE

ALONE = np.arange(60)
UNTESTED = SliceScore(examples=3, score=0.2, interval=None, rest=0.9, p=None)


def answers(metric, random, items=60):
    """Gold, predictions, labels."""
    if metric == "pearson":
        gold = random.random(items)
        return gold, gold + random.normal(0, 0.3, items), None
    labels = ["a", "b", "c"]
    if metric.endswith("f1"):
        gold, said = (
            [tuple(sorted(set(random.choice(labels, 2)))) for _ in range(items)] for _ in "gs"
        )
        return gold, said, labels
    gold = random.choice(labels, items)
    return gold, np.where(random.random(items) < 0.6, gold, random.choice(labels, items)), labels


def of_sklearn(metric, gold, said, labels):
    if metric == "accuracy":
        return accuracy_score(gold, said)
    if metric == "matthews":
        return matthews_corrcoef(gold, said)
    if metric == "pearson":
        return stats.pearsonr(gold, said).statistic
    gold, said = ([[label in one for label in labels] for one in side] for side in (gold, said))
    return f1_score(gold, said, average=metric.split("_")[0], zero_division=0)


@pytest.mark.parametrize("metric", ["accuracy", "matthews", "pearson", "micro_f1", "macro_f1"])
def test_scores_are_those_of_scikit_learn_on_the_subset(metric):
    random = np.random.default_rng(3)
    gold, said, labels = answers(metric, random)
    members = random.random(60) < 0.3
    rows = item_statistics(metric, said, gold, labels)[None]
    found = slice_score(metric, rows, members, ALONE)
    for score, side in ((found.score, members), (found.rest, ~members)):
        picked = np.flatnonzero(side)
        expected = of_sklearn(metric, *([one[n] for n in picked] for one in (gold, said)), labels)
        assert score == pytest.approx(expected, abs=1e-9)
    assert found.examples == members.sum()


def test_span_f1_of_the_sentences_of_a_slice():
    gold = [["B-X", "I-X"], ["B-X", "O"], ["O", "O"]]
    said = [["B-X", "I-X"], ["O", "B-X"], ["O", "B-X"]]
    rows = item_statistics("span_f1", said, gold, scheme="IOB2")[None]
    members = np.array([True, True, False])
    found = slice_score("span_f1", rows, members, np.arange(3))
    assert found.score == 2 * 1 / (2 + 2)
    assert found.rest is None  # no gold entity there


@pytest.mark.parametrize(("metric", "score"), [("f1", (2 / 3 + 1) / 2), ("exact_match", 1 / 2)])
def test_answers_of_a_slice(metric, score):
    rows = item_statistics(metric, ["p", "r", "x"], [["p q"], ["r"], ["s"]])[None]
    found = slice_score(metric, rows, np.array([True, True, False]), np.arange(3))
    assert (found.score, found.rest) == (pytest.approx(score), 0)


@pytest.mark.parametrize("metric", METRICS)
def test_a_slice_of_any_metric(metric):
    """Every function that asks for the metric knows it."""
    gold, said = {
        "pearson": ([1.0, 2.0, 3.0, 5.0], [1.0, 2.0, 4.0, 4.0]),
        **dict.fromkeys(("span_f1", "strict_span_f1"), ([["B-X"]] * 4, [["B-X"]] * 3 + [["O"]])),
        **dict.fromkeys(("micro_f1", "macro_f1"), ([("a",)] * 4, [("a",)] * 3 + [()])),
        **dict.fromkeys(
            ("log_probability", "hits_at_1_of_4", *ROUGE), (["a b", "a"] * 2, [("", -3.0, 1.0)] * 4)
        ),
        **dict.fromkeys(("f1", "exact_match"), ([["p"]] * 4, ["p", "p", "q", "q"])),
    }.get(metric, (["a", "b", "a", "b"], ["a", "b", "b", "b"]))
    rows = item_statistics(metric, said, gold, ["a", "b"], "IOB2")[None]
    assert pseudo_values(metric, rows).shape == (1, 4)
    assert is_defined(metric, rows[0].sum(0))
    found = slice_score(metric, rows, np.array([True, True, True, False]), np.arange(4))
    low, high = METRICS[metric].limits
    assert found.examples == 3 and low <= found.score <= high


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_test_is_the_sum_of_variances_that_the_docstring_says(seeds):
    """Accuracy, computed without the jackknife's function, with items of several examples."""
    random = np.random.default_rng(seeds)
    groups = np.sort(random.integers(0, 90, 120))
    groups = np.unique(groups, return_inverse=True)[1]
    members = random.random(120) < 0.4
    right = (random.random((seeds, 120)) < np.where(members, 0.6, 0.75)).astype(float)
    found = slice_score("accuracy", np.stack([right, np.ones_like(right)], -1), members, groups)

    def difference(kept):
        inside, outside = kept & members, kept & ~members
        return right[:, inside].mean(1) - right[:, outside].mean(1)

    everything = np.ones(120, bool)
    whole, number = difference(everything), groups.max() + 1
    leaving = [groups != item for item in range(number)]
    y = np.stack([number * whole - (number - 1) * difference(kept) for kept in leaving], axis=1)
    z = np.stack(
        [number * right.mean(1) - (number - 1) * right[:, kept].mean(1) for kept in leaving],
        axis=1,
    )
    m = [len(set(groups[side])) for side in (members, ~members)]
    items = max(y.mean(0).var(ddof=1) / number, z.mean(0).var(ddof=1) * (1 / m[0] + 1 / m[1]))
    by_seed = whole.var(ddof=1) / seeds if seeds > 1 else 0.0
    residual = 0.0
    if seeds > 1:
        rest = y - y.mean(0) - y.mean(1, keepdims=True) + y.mean()
        residual = (rest**2).sum() / ((seeds - 1) * (number - 1)) / (seeds * number)
    variance = by_seed + items - min(by_seed, items, residual)
    freedom = variance**2 / (by_seed**2 / max(seeds - 1, 1) + items**2 / (min(m) - 1))
    expected = 2 * stats.t.sf(abs(whole.mean()) / np.sqrt(variance), freedom)
    assert found.p == pytest.approx(expected, rel=1e-9)
    assert found.score == pytest.approx(right[:, members].mean())


def test_the_interval_of_one_run_is_students():
    right = np.repeat([1.0, 0.0], [30, 12])
    rows = np.stack([right, np.ones_like(right)], -1)[None]
    found = slice_score("accuracy", rows, np.ones(42, bool), np.arange(42))
    expected = stats.t.interval(0.95, 41, right.mean(), stats.sem(right))
    assert found.interval == pytest.approx(expected)
    assert (found.rest, found.p) == (None, None)
    small = slice_score("accuracy", rows * [1e-7, 1], np.ones(42, bool), np.arange(42))
    assert small.interval == pytest.approx(1e-7 * np.array(expected))
    same = slice_score("accuracy", np.ones((1, 42, 2)), right == 1, np.arange(42))
    assert (same.score, same.interval, same.p) == (1, None, None)  # all right; 12 others


def test_few_items_and_chosen_slices_are_not_tested():
    right = np.repeat([0.0, 1.0], [19, 41])
    rows = np.stack([right, np.ones_like(right)], -1)[None]
    assert slice_score("accuracy", rows, ALONE < 19, ALONE).p is None
    assert slice_score("accuracy", rows, ALONE < 20, ALONE).p < 1e-5
    assert slice_score("accuracy", rows, ALONE < 20, ALONE, tested=False).p is None
    # Twenty examples of ten items.
    assert slice_score("accuracy", rows, ALONE < 20, ALONE // 2).p is None


def test_all_wrong_against_all_right_has_a_pooled_variance():
    right = (ALONE >= 30).astype(float)
    rows = np.stack([right, np.ones_like(right)], -1)[None]
    found = slice_score("accuracy", rows, ALONE < 30, ALONE)
    t = 1 / np.sqrt(right.var(ddof=1) * 2 / 30)
    assert found.p == pytest.approx(2 * stats.t.sf(t, 29))
    equal = slice_score("accuracy", np.ones((1, 60, 2)), ALONE < 30, ALONE)
    assert equal.p == 1


def test_rounding_is_no_difference():
    gold = np.random.default_rng(0).random((20, 60))
    for row in gold:
        runs = [item_statistics("pearson", 3 * row + shift, row, None) for shift in (1, 0.3, 0.7)]
        assert slice_score("pearson", np.stack(runs), ALONE < 30, ALONE).p == 1


def test_holm_over_the_slices_that_were_tested():
    # Written out: 3 · 0.01, 2 · 0.02, max(0.04, 0.04).
    ps = [0.02, None, 0.01, 0.04]
    found = [replace(UNTESTED, p=p) for p in ps]
    corrected = with_challenging(found, 0.05)
    assert [one.p_holm for one in corrected] == pytest.approx([0.04, None, 0.03, 0.04])
    assert [one.challenging for one in corrected] == [True, False, True, True]
    assert [one.challenging for one in with_challenging(found, 0.03)] == [False, False, True, False]
    assert not any(one.challenging for one in with_challenging(found, 0))
    above = with_challenging([replace(UNTESTED, p=0.001, score=0.95)], 0.05)
    assert (above[0].p_holm, above[0].challenging) == (0.001, False)
    assert with_challenging([], 0.05) == []
    assert set(asdict(UNTESTED)) >= {"examples", "score", "interval", "rest", "p", "p_holm"}


@pytest.mark.parametrize(
    ("metric", "gold", "defined"),
    [
        ("accuracy", ["a"], True),
        ("matthews", ["a", "a", "a"], False),
        ("matthews", ["a", "b"], True),
        ("pearson", [1.0, 2.0], False),
        ("pearson", [2.0, 2.0, 2.0], False),
        ("pearson", [1.0, 2.0, 2.0], True),
        ("micro_f1", [(), ()], False),
        ("macro_f1", [(), ()], False),
        ("macro_f1", [(), ("a",)], True),
    ],
)
def test_when_a_score_says_something(metric, gold, defined):
    said = list(range(len(gold))) if metric == "pearson" else gold
    rows = item_statistics(metric, said, gold, ["a", "b"])
    assert is_defined(metric, rows.sum(0)) is defined
    assert not is_defined(metric, np.zeros(rows.shape[1]))


def test_slices_that_are_no_harder_are_rarely_challenging():
    """Difficult items, unstable seeds, 30 of 200 examples: at most 5 % and two standard errors."""
    random = np.random.default_rng(5)
    members, groups, times = np.arange(200) < 30, np.arange(200), 300
    wrong = 0
    for _ in range(times):
        hard = random.random(200) + random.normal(0, 0.2, (3, 200))
        right = hard < random.normal(0.7, 0.02, (3, 1))
        rows = np.stack([right.astype(float), np.ones((3, 200))], -1)
        wrong += slice_score("accuracy", rows, members, groups).p <= 0.05
    assert wrong / times <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / times)


def of_folds(random, members, deviation=0.05, repeats=2, folds=5):
    """Right or wrong `[repeats, items, 2]` and the folds; slice and rest vary over trainings."""
    count = len(members)
    fold_of = np.stack([random.permutation(count) % folds for _ in range(repeats)])
    expected = np.where(random.random(count) < 0.8, 0.93, 0.15)
    for part in (np.ones(count, bool), members):
        trainings = deviation * random.standard_normal((repeats, folds))
        shared = deviation / np.sqrt(folds - 1) * random.standard_normal()
        expected = expected + part * (np.take_along_axis(trainings, fold_of, 1) + shared)
    right = random.random((repeats, count)) < expected
    return np.stack([right, np.ones_like(right)], -1).astype(float), fold_of


def test_false_positive_rate_with_folds():
    """Taken as two seeds, the repeats of these reject 6 %."""
    random, members = np.random.default_rng(4), np.arange(400) < 100
    items = np.arange(400)
    p = [
        slice_score("accuracy", rows, members, items, folds=fold_of).p
        for rows, fold_of in (of_folds(random, members) for _ in range(600))
    ]
    assert np.mean(np.array(p) <= 0.05) < 0.05 + 2 * np.sqrt(0.05 * 0.95 / 600)


def test_a_slice_that_folds_lack():
    members = np.arange(60) < 3
    rows, fold_of = of_folds(np.random.default_rng(0), members)
    found = slice_score("accuracy", rows, members, ALONE, folds=fold_of)
    assert found == slice_score("accuracy", rows, members, ALONE)
