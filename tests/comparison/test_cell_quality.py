"""The labels and probabilities of several seeds together."""

import numpy as np
import pytest

from tf_adapt.comparison.cell_quality import label_qualities, reliability
from tf_adapt.data.gold_answers import label_scores
from tf_adapt.statistics.calibration import calibration


def test_labels_are_means_over_seeds():
    gold = ["a", "a", "b"]
    of_seeds = [label_scores(said, gold, "classification") for said in (["a", "b", "b"], ["a"] * 3)]
    found = label_qualities(of_seeds)
    assert (found["a"].recall, found["b"].recall) == (0.75, 0.5)
    assert found["b"].precision == 0.25  # 1/2, and 0 where it is never said
    assert (found["a"].support, found["b"].support) == (2, 1)
    assert label_qualities([]) is None


def test_the_bins_of_all_seeds_are_those_of_their_predictions_together():
    random = np.random.default_rng(0)
    probabilities, outcomes = random.random((2, 90)), random.random((2, 90)) < 0.6
    of_seeds = [calibration(*seed) for seed in zip(probabilities, outcomes, strict=True)]
    found, together = reliability(of_seeds), calibration(probabilities.ravel(), outcomes.ravel())
    assert found.counts == together["counts"]
    np.testing.assert_allclose(found.probabilities, together["probabilities"], atol=1e-5)
    np.testing.assert_allclose(found.shares, together["shares"], atol=1e-5)
    assert found.ece.mean == pytest.approx(np.mean([of["ece"] for of in of_seeds]))
    assert reliability([]) is None
