"""🔥 − ❄ predicted from made comparisons, beside closed forms."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from tf_adapt.analysis.estimate import predicting
from tf_adapt.analysis.estimate.measures import PENALTIES
from tf_adapt.comparison.advice.published import Published

MEASURED = {
    "dataset": "own",
    "kind": "classification",
    "compared_by": "accuracy",
    "constant": 0.5,
    "examples": {"train": 1000},
    "ranking": [
        {"encoder": "a", "family": "bert", "probe": 0.8},
        {"encoder": "a", "family": "bert", "probe": 0.6},
        {"encoder": "b", "family": "lstm", "probe": 0.7},
    ],
}


def row(dataset, difference, probe=0.8, metric="accuracy", examples=1000):
    return Published(
        comparison=dataset,
        dataset=dataset,
        kind="classification",
        metric=metric,
        encoder="bert_small",
        family="bert",
        examples=examples,
        frozen=0.7,
        tuned=0.7 + difference,
        difference=difference,
        interval=None,
        level=0.97,
        decided="open",
        constant=0.5,
        probe=probe,
    )


def of_probes(count=8):
    """🔥 gains what the probe leaves: 0.03 at 0.8, −0.07 at 0.9."""
    probes = np.linspace(0.6, 0.95, count)
    return [row(str(n), 0.83 - probe, probe) for n, probe in enumerate(probes)]


def test_too_few_other_data_sets_predict_nothing():
    """Those on the same data, of other metrics or without measures do not count."""
    known = [row(str(n), 0.1) for n in range(4)]
    known += [row("own", 0.1), row("5", 0.1, metric="span_f1"), row("6", 0.1, probe=None)]
    found = predicting.predictions(MEASURED, known)
    assert (found["datasets"], found["rules"], found["encoders"]) == (4, None, [])
    line = predicting.first_line(found)
    assert "is not predicted: expected published" in line and "at least 5" in line
    assert line.endswith("got 4.")
    assert predicting.lines_of(found) == []


def test_a_gain_that_follows_the_probe_is_predicted():
    found = predicting.predictions(MEASURED, of_probes())
    assert found["better"] and found["rules"]["ridge regression"]["right"] == 8
    a, b = found["encoders"]
    assert a["predicted"]["ridge regression"] == pytest.approx(0.03, abs=1e-3)
    assert b["predicted"] is None  # no LSTM among them
    text = "\n".join(predicting.lines_of(found))
    assert "a: +3.0 (ridge regression)" in text and "b: not predicted" in text
    assert "is better than rules" in predicting.first_line(found)


def test_a_gain_that_nothing_tells_is_said_first():
    known = [row(str(n), 0.1 + 0.02 * (-1) ** n) for n in range(6)]
    found = predicting.predictions(MEASURED, known)
    assert found["better"] is False
    assert "no better than rules" in predicting.first_line(found)


def test_the_rules_are_those_of_a_hand_count():
    """Each data set from the others: rows of one data set are left out together."""
    known = [row("a", 0.1), row("a", 0.3), row("b", -0.2), row("c", 0.0)]
    rules = predicting.checked(known)
    # a is predicted from b and c, b from a and c, c from a and b.
    expected = np.mean([abs(-0.1 - 0.1), abs(-0.1 - 0.3), abs(0.4 / 3 + 0.2), abs(0.2 / 3)])
    assert rules["mean of the others"] == {
        "right": 0,
        "of": 4,
        "error": pytest.approx(expected),
    }
    expected = np.mean([abs(-0.1 - 0.1), abs(-0.1 - 0.3), abs(0.4 / 3 + 0.2), 0.6 / 3])
    assert rules["majority sign"]["error"] == pytest.approx(expected)


def test_the_regression_is_scikit_learns_on_standardised_columns():
    known = [row(str(n), 0.01 * n**2, 0.6 + 0.03 * n, examples=10 ** (n + 1)) for n in range(6)]
    columns = np.array([[1.0, n + 1, 0.2 + 0.06 * n] for n in range(6)])
    deviations = np.where(columns.std(axis=0) > 0, columns.std(axis=0), 1)
    model = RidgeCV(PENALTIES).fit(
        (columns - columns.mean(axis=0)) / deviations, [one.difference for one in known]
    )
    asked = (np.array([[1.0, 3.0, 0.6]]) - columns.mean(axis=0)) / deviations
    found = predicting.predictions(MEASURED, known)["encoders"][0]["predicted"]
    assert found["ridge regression"] == pytest.approx(float(model.predict(asked)[0]))
