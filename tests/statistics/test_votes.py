"""Majority, agreement and accuracies of several sources, by hand."""

import numpy as np
import pytest

from tf_adapt.errors import DataError
from tf_adapt.statistics.votes import (
    agreement,
    checked_votes,
    entropies,
    estimated_accuracies,
    majority,
)

VOTES = np.array([[0, 0, 1], [1, 2, -1], [2, 2, 2], [-1, 1, -1]])


def test_two_sources_are_enough():
    assert checked_votes([[0, 1], [2, -1]])[1] == 3
    with pytest.raises(DataError, match="at least 2 sources, got 1"):
        checked_votes([[0], [1]])


def test_the_majority_shares_ties():
    expected = [[1, 0, 0], [0, 0.5, 0.5], [0, 0, 1], [0, 1, 0]]
    np.testing.assert_array_equal(majority(VOTES), expected)


def test_agreement_is_the_share_of_equal_pairs():
    # One of three, none of one, three of three; the last item has no pair.
    assert agreement(VOTES, 3) == pytest.approx(4 / 7)
    assert agreement(np.array([[0, -1], [-1, 1]]), 2) is None


def test_an_accuracy_is_the_expected_share_of_correct_votes():
    votes = np.array([[0, 1], [0, 1], [1, 1], [1, 0]])
    truth = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]])
    # The first: 2 of 3 of label 0 (3/4 of the items), all of label 1.
    assert estimated_accuracies(votes, truth) == pytest.approx([0.75, 0.0], abs=1e-9)


def test_entropies_in_nats():
    found = entropies(np.array([[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]]))
    np.testing.assert_allclose(found, [0, np.log(2), 0.56233514], atol=1e-8)
