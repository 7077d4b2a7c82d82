"""Plain `fit` and `evaluate` on two devices, or compiled, give what one device gives.

Shares of the devices are unequal, and empty, on purpose: a mean of means would differ.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

CASES = [
    f"{kind} {case}"
    for kind in ("concat_pooling", "classification", "regression", "tagging")
    for case in ("10 by 6", "9 by 2", "10 by 10", "10 by 4", "compiled")
]


@pytest.fixture(scope="module")
def results() -> dict:
    child = Path(__file__).parents[1] / "children" / "distribution.py"
    done = subprocess.run([sys.executable, str(child)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.slow
def test_every_case_was_run(results):
    assert set(results) == set(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_weights_after_an_epoch_are_equal(results, case):
    one, two = (np.array(results[case][side]["weights"]) for side in ("one", "two"))
    np.testing.assert_allclose(two, one, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["fit", "evaluate"])
@pytest.mark.parametrize("case", CASES)
def test_loss_and_metrics_are_equal(results, case, phase):
    one, two = (results[case][side][phase] for side in ("one", "two"))
    assert set(one) == set(two)
    for name, value in one.items():
        assert np.isfinite(value), name
        assert two[name] == pytest.approx(value, abs=2e-6), name


@pytest.mark.slow
def test_the_cases_are_not_trivial(results):
    assert results["classification 10 by 4"]["one"]["evaluate"]["matthews"] > 0
    assert results["regression 10 by 4"]["one"]["evaluate"]["pearson"] < -0.1
    tagging = results["tagging 10 by 4"]["one"]["evaluate"]
    assert 0 < tagging["strict_span_f1"] != tagging["span_f1"] > 0
