"""Probes on problems where it is known which layer holds the label."""

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import matthews_corrcoef

from tf_adapt.analysis.information import entropy, layer_information, random_representations
from tf_adapt.analysis.probes import PENALTIES, constant_score, probe, score
from tf_adapt.errors import DataError

DIRECTION = np.random.default_rng(9).normal(size=12)


def layers(labels: np.ndarray, seed: int) -> list[np.ndarray]:
    """Noise, the label in one direction of 12 and noise, noise alone on another scale."""
    random = np.random.default_rng(seed)
    states = [random.normal(size=(len(labels), 12)) for _ in range(3)]
    states[1] += 0.8 * np.outer(labels - labels.mean(), DIRECTION)
    return [states[0], states[1], 1000 * states[2] + 5000]


@pytest.mark.parametrize("metric", ["accuracy", "matthews", "pearson"])
def test_the_layer_that_holds_the_label_is_found(metric):
    random = np.random.default_rng(0)
    draw = random.normal if metric == "pearson" else (lambda size: random.integers(0, 2, size))
    train, dev = draw(size=300), draw(size=200)
    found = [
        probe(one, train, other, dev, metric)
        for one, other in zip(layers(train, 1), layers(dev, 2), strict=True)
    ]
    scores = [one["score"] for one in found]
    chance = 0.5 if metric == "accuracy" else 0.0
    assert scores[1] > 0.75
    assert scores[0] == pytest.approx(chance, abs=0.15)
    assert scores[2] == pytest.approx(chance, abs=0.15)
    assert all(one["penalty"] in PENALTIES for one in found)


def test_features_are_standardised_with_train_alone():
    random = np.random.default_rng(0)
    labels, other = random.integers(0, 2, 200), random.integers(0, 2, 100)
    train, dev = layers(labels, 1)[1], layers(other, 2)[1]
    expected = probe(train, labels, dev, other, "accuracy")
    scales, shifts = random.uniform(0.001, 1000, 12), random.normal(size=12)
    assert (
        probe(train * scales + shifts, labels, dev * scales + shifts, other, "accuracy") == expected
    )
    # Were dev centred by itself, a shift of dev alone would change nothing.
    moved = probe(train, labels, dev + 50 * DIRECTION, other, "accuracy")
    assert moved["score"] == pytest.approx(other.mean())


def test_the_penalty_is_strong_where_there_is_nothing_but_noise():
    random = np.random.default_rng(4)
    train, labels = random.normal(size=(60, 50)), random.normal(size=60)
    assert probe(train, labels, train, labels, "pearson")["penalty"] >= 100
    assert probe(train, train[:, 0], train, train[:, 0], "pearson")["penalty"] == min(PENALTIES)


def test_scores_are_those_of_scikit_learn_and_scipy():
    random = np.random.default_rng(5)
    true, predicted = random.integers(0, 3, (2, 50))
    assert score(true, predicted, "accuracy") == pytest.approx(np.mean(true == predicted))
    assert score(true, predicted, "matthews") == pytest.approx(matthews_corrcoef(true, predicted))
    first, second = random.normal(size=(2, 50))
    assert score(first, second, "pearson") == pytest.approx(pearsonr(first, second).statistic)
    assert score(first, np.ones(50), "pearson") == 0
    assert score(true, np.ones(50, int), "matthews") == 0


def test_the_constant_answer_is_trains_most_frequent_label():
    assert constant_score(np.array([2, 2, 0, 1]), np.array([2, 0, 0, 0]), "accuracy") == 0.25
    assert constant_score(np.array([1.5]), np.array([1.5]), "pearson") == 0


TOO_LITTLE = [
    (np.array([0, 1] * 9), "at least 20 examples to fit a probe on, got 18"),
    (np.zeros(40, int), "at least two labels with 5 examples each.*got 1"),
    (np.array([0] * 36 + [1] * 4), "at least two labels with 5 examples each.*got 1"),
]


def test_too_little_to_fit_on_is_refused():
    for labels, message in TOO_LITTLE:
        with pytest.raises(DataError, match=message):
            probe(np.ones((len(labels), 2)), labels, np.ones((4, 2)), np.zeros(4, int), "accuracy")


def test_information_is_in_the_layer_that_holds_the_label_and_not_in_the_checks():
    labels = np.random.default_rng(0).integers(0, 2, 500)
    found = [layer_information(states, labels) for states in layers(labels, 1)]
    assert found[1]["bits"] > 0.3
    assert found[0]["bits"] < 0.02
    assert found[2]["bits"] < 0.02
    assert max(max(one["random_labels"]) for one in found) < 0.1
    assert max(random_representations(12, labels)) < 0.1


def test_entropy_of_labels():
    assert entropy(np.array([0, 1, 1, 1])) == pytest.approx(2 - 0.75 * np.log2(3))
    assert entropy(np.array([2, 2])) == 0
