"""The calibration error against its definition, bin by bin, and scikit-learn's curve."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from tf_adapt.statistics.calibration import calibration


def test_as_scikit_learns_curve():
    random = np.random.default_rng(0)
    probabilities = random.uniform(0.2, 1.0, 500)
    outcomes = random.random(500) < probabilities**2
    found = calibration(probabilities, outcomes)
    shares, means = calibration_curve(outcomes, probabilities, n_bins=15)
    np.testing.assert_allclose(found["shares"], shares, atol=1e-6)
    np.testing.assert_allclose(found["probabilities"], means, atol=1e-6)
    ece = sum(
        inside.mean() * abs(outcomes[inside].mean() - probabilities[inside].mean())
        for low in np.arange(15) / 15
        if (inside := (probabilities > low) & (probabilities <= low + 1 / 15)).any()
    )
    assert found["ece"] == pytest.approx(ece)


def test_ends_of_bins():
    found = calibration([0.0, 1 / 15, 1.0, 1.0], [False, True, True, False])
    assert found["counts"] == [2, 2]
    assert found["shares"] == [0.5, 0.5]
    assert found["ece"] == pytest.approx((2 * (0.5 - 1 / 30) + 2 * 0.5) / 4)
