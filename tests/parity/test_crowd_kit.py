"""Dawid and Skene's model against crowd-kit's, on simulated annotators."""

from pathlib import Path

import numpy as np
import pytest

import tf_adapt as ta

RECORDED = Path(__file__).parent / "recorded" / "crowd_kit" / "dawid_skene.npz"


@pytest.mark.parametrize("iterations", [1, 5, 10])
@pytest.mark.parametrize("case", ["two_labels", "four_labels"])
def test_posteriors_and_confusion_matrices_are_those_of_crowd_kit(case, iterations, compare):
    with np.load(RECORDED, allow_pickle=False) as arrays:
        found = ta.dawid_skene(arrays[f"{case}:votes"], iterations=iterations)
        for name in ("posteriors", "prior", "confusion"):
            # It clips posteriors at 1e-10.
            expected = arrays[f"{case}:{iterations}:{name}"]
            compare(f"crowd-kit {case}, {name}", getattr(found, name), expected, 1e-9)
