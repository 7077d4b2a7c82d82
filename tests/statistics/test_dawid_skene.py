"""Dawid and Skene's model: its likelihood, its limits, and what it cannot take."""

import numpy as np
import pytest

from tf_adapt.errors import DataError
from tf_adapt.statistics.dawid_skene import dawid_skene
from tf_adapt.statistics.votes import ABSTAINED, confusion_of


def simulated(seed=0, items=60, labels=3, accuracies=(0.9, 0.7, 0.6, 0.5)):
    random = np.random.default_rng(seed)
    truth = random.integers(0, labels, items)
    votes = np.empty([items, len(accuracies)], int)
    for source, accuracy in enumerate(accuracies):
        wrong = (truth + random.integers(1, labels, items)) % labels
        votes[:, source] = np.where(random.random(items) < accuracy, truth, wrong)
    votes[random.random(votes.shape) < 0.2] = ABSTAINED
    votes[(votes == ABSTAINED).all(axis=1), 0] = 0
    return votes, truth


def log_likelihood(votes, prior, confusion):
    """Σ_i log Σ_k π_k Π_w θ^w, vote by vote."""
    total = 0.0
    for row in votes:
        joint = [
            prior[label]
            * np.prod([confusion[w, label, vote] for w, vote in enumerate(row) if vote >= 0])
            for label in range(len(prior))
        ]
        total += np.log(sum(joint))
    return total


@pytest.mark.parametrize("seed", range(3))
def test_each_iteration_raises_the_likelihood(seed):
    votes, _ = simulated(seed)
    found = [dawid_skene(votes, iterations=count) for count in range(12)]
    likelihoods = [log_likelihood(votes, one.prior, one.confusion) for one in found]
    assert (np.diff(likelihoods) > -1e-9).all() and likelihoods[-1] > likelihoods[0] + 1


def test_iterations_end_when_the_bound_gains_little():
    votes, _ = simulated()
    whole = dawid_skene(votes)
    counts = [
        np.array_equal(dawid_skene(votes, iterations=count).posteriors, whole.posteriors)
        for count in range(1, 100)
    ]
    assert 3 < counts.index(True) < 98 and all(counts[counts.index(True) :])


def test_a_bad_source_that_is_often_wrong_is_understood():
    """Against three coins and one that always lies, the majority knows less."""
    votes, truth = simulated(5, 400, 2, (0.9, 0.85, 0.8, 0.1, 0.1))
    found = dawid_skene(votes)
    assert (found.posteriors.argmax(axis=1) == truth).mean() > 0.9
    np.testing.assert_allclose(found.confusion[3].diagonal(), 0.1, atol=0.08)
    np.testing.assert_allclose(found.confusion.sum(axis=2), 1)
    np.testing.assert_allclose(found.posteriors.sum(axis=1), 1)


def test_a_label_without_votes_has_no_probability():
    votes, _ = simulated(labels=2)
    found = dawid_skene(votes)
    wide = dawid_skene(np.where(votes > 0, 2, votes), num_labels=4)
    np.testing.assert_array_equal(wide.posteriors[:, [0, 2]], found.posteriors)
    assert not wide.posteriors[:, [1, 3]].any() and not wide.confusion[:, [1, 3]].any()
    np.testing.assert_array_equal(wide.confusion[:, [0, 2]][..., [0, 2]], found.confusion)


def test_two_calls_give_the_same_bits():
    votes, _ = simulated()
    one, two = dawid_skene(votes), dawid_skene(votes)
    assert one.posteriors.tobytes() == two.posteriors.tobytes()


def test_confusion_matrices_by_hand():
    votes = np.array([[0, 1], [1, 1], [0, -1]])
    posteriors = np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]])
    found = confusion_of(votes, posteriors)
    np.testing.assert_allclose(found[0], [[1.5 / 1.75, 0.25 / 1.75], [0.5 / 1.25, 0.75 / 1.25]])
    np.testing.assert_array_equal(found[1], [[0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ([0, 1], r"expected whole numbers of the shape \[items, sources\], got int64 of the"),
        ([[0.0, 1.0]], "got float64 of the shape"),
        ([[0], [1]], "expected at least 2 sources, got 1"),
        ([[0, -2]], "expected ids from 0 to 2, or -1, got -2 to 0"),
        ([[0, 3]], "expected ids from 0 to 2, or -1, got 0 to 3"),
        ([[0, 1], [-1, -1]], r"got none for item 1 \(1 such items\)"),
    ],
)
def test_what_is_no_table_of_votes(votes, message):
    with pytest.raises(DataError, match=message):
        dawid_skene(votes, num_labels=3)
