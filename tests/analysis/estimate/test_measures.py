"""Measures of frozen states against determinants, closed forms and other libraries."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.linear_model import BayesianRidge

from tf_adapt.analysis.estimate import measures

SHAPES = [(60, 8), (30, 30), (20, 75)]  # more and fewer examples than dimensions


def drawn(count, width, seed=0):
    random = np.random.default_rng(seed)
    features = random.normal(size=(count, width)) * random.gamma(1, size=width)
    return features, features @ random.normal(size=width) / width + random.normal(size=count)


@pytest.mark.parametrize(("count", "width"), SHAPES)
def test_the_evidence_is_that_of_the_determinant(count, width):
    features, targets = drawn(count, width)
    for alpha, beta in ((1.0, 1.0), (0.3, 7.0), (25.0, 0.04)):
        covariance = np.eye(count) / beta + features @ features.T / alpha
        expected = multivariate_normal(np.zeros(count), covariance).logpdf(targets) / count
        found = measures.log_evidence(features, targets, alpha, beta)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("count", "width"), SHAPES)
def test_the_fixed_point_is_the_maximum(count, width):
    features, targets = drawn(count, width, 1)

    def loss(logs):
        return -measures.log_evidence(features, targets, *np.exp(np.clip(logs, -20, 20)))

    starts = [(0.0, 0.0), (3.0, 0.0), (0.0, -3.0)]
    best = max(-minimize(loss, start, method="Nelder-Mead").fun for start in starts)
    assert measures.best_log_evidence(features, targets) == pytest.approx(best, abs=1e-6)


def test_the_precisions_are_those_of_scikit_learn():
    features, targets = drawn(200, 10, 2)
    flat = dict.fromkeys(("alpha_1", "alpha_2", "lambda_1", "lambda_2"), 0.0)
    fitted = BayesianRidge(max_iter=10_000, tol=1e-12, fit_intercept=False, **flat)
    fitted.fit(features, targets)
    expected = measures.log_evidence(features, targets, fitted.lambda_, fitted.alpha_)
    assert measures.log_me(features, targets, classes=False) == pytest.approx(expected, abs=1e-9)


def test_nothing_to_find_and_everything_found():
    features, _ = drawn(30, 5)
    assert np.isfinite(measures.best_log_evidence(features, np.zeros(30)))
    exact = measures.best_log_evidence(features, features @ np.ones(5))
    assert np.isfinite(exact) and exact > 2


def test_classes_are_one_against_the_rest():
    features, _ = drawn(60, 8)
    targets = np.arange(60) % 3
    columns = [measures.best_log_evidence(features, targets == label) for label in range(3)]
    assert measures.log_me(features, targets, True) == pytest.approx(np.mean(columns))


def test_coding_rates_are_those_of_the_determinant():
    features, _ = drawn(40, 6)
    gram = np.eye(6) + features.T @ features / (40 * measures.DISTORTION)
    expected = np.linalg.slogdet(gram)[1] / 2
    assert measures.coding_rate(features) == pytest.approx(expected, rel=1e-9)


def test_h_score_without_shrinkage_is_that_of_the_between_class_share():
    """With many examples of two classes in one dimension: the share of the variance that is
    between."""
    random = np.random.default_rng(0)
    targets = np.arange(20_000) % 2
    features = (3.0 * targets + random.normal(size=20_000))[:, None]
    within = np.mean([features[targets == label].var() for label in (0, 1)])
    expected = 1 - within / features.var()
    assert measures.h_score(features, targets, True) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("classes", [True, False])
def test_states_that_tell_the_targets_are_ahead_of_noise(classes):
    random = np.random.default_rng(3)
    targets = random.permutation(np.arange(120) % 3) if classes else random.normal(size=120)
    noise = random.normal(size=(120, 20))
    telling = noise + 3 * np.eye(20)[targets] if classes else noise + targets[:, None]
    for measure in (measures.log_me, measures.h_score, measures.trans_rate):
        assert measure(telling, targets, classes) > measure(noise, targets, classes)
    parts = measures.folds(targets, np.arange(120), classes)
    for answers in (measures.linear_probe, measures.nearest_neighbours):
        found = [answers(of, targets, classes, parts) for of in (telling, noise)]
        scores = [
            np.mean(one == targets) if classes else np.corrcoef(one, targets)[0, 1] for one in found
        ]
        assert scores[0] > 0.75 > 0.55 > scores[1]


def test_a_rare_label_gives_no_warning_of_scikit_learn(recwarn):
    targets = np.array([0] * 10 + [1] * 10 + [2])
    features = np.random.default_rng(0).normal(size=(21, 3))
    for groups in (np.arange(21), np.arange(21) // 2):
        parts = measures.folds(targets, groups, True)
        for answers in (measures.linear_probe, measures.nearest_neighbours):
            assert answers(features, targets, True, parts).shape == (21,)
    assert not recwarn.list


@pytest.mark.parametrize("classes", [True, False])
def test_no_example_of_a_querys_group_answers_for_it(classes):
    """Groups of ten equal points, two by two: beside each lie those of the other target."""
    groups = np.repeat(np.arange(20), 10)
    features = (10.0 * (groups // 2) + groups % 2)[:, None]
    targets = groups % 2 if classes else groups % 2 + groups / 1000
    alone, together = (
        measures.folds(targets, of, classes) for of in (np.arange(len(groups)), groups)
    )
    assert not any(set(groups[own]) & set(groups[others]) for others, own in together)
    right = measures.nearest_neighbours(features, targets, classes, alone)
    assert np.abs(right - targets).max() < 0.5
    wrong = measures.nearest_neighbours(features, targets, classes, together)
    has_other = np.zeros(len(groups), bool)  # the other group is not in the same fold
    for others, own in together:
        has_other[own] = np.isin(groups[own] ^ 1, groups[others])
    assert has_other.mean() > 0.5
    assert np.abs(wrong - targets)[has_other].min() > 0.5


def test_a_fold_that_leaves_fewer_than_five_takes_those():
    groups = np.array([0] * 16 + [1, 2, 3, 4])
    targets = np.arange(20) % 2
    parts = measures.folds(targets, groups, True)
    assert min(len(others) for others, _ in parts) == 4
    features = np.random.default_rng(0).normal(size=(20, 3))
    assert measures.nearest_neighbours(features, targets, True, parts).shape == (20,)
