"""🔥 − ❄ of an encoder on other data, predicted from the published comparisons.

Imports no TensorFlow."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tf_adapt.analysis.estimate.measures import PENALTIES
from tf_adapt.analysis.pooling.effects import FAMILIES
from tf_adapt.comparison.advice.published import Published
from tf_adapt.printing import words

# Of four data sets all signs are right by chance with probability ½⁴ = 6 %, of five with 3 %.
FEWEST = 5


def predictions(measured: dict[str, Any], known: Sequence[Published]) -> dict[str, Any]:
    """🔥 − ❄ of each encoder by each rule of `RULES`, and how these do on the data sets of `known`.

    Those count whose metric is of the family of this one, with measures, on other data. With fewer
    than `FEWEST` such data sets nothing is predicted: `rules` and `better` are None. Of an encoder
    none of whose family was compared nothing is predicted either. No coverage is claimed.

    Args:
        measured: as `estimating.measured` returns it.
    """
    family = _scores(measured["compared_by"])
    known = [
        row
        for row in known
        if _scores(row.metric) == family
        if row.probe is not None and row.dataset != measured["dataset"]
    ]
    datasets = len({row.dataset for row in known})
    result = {"scores": family, "datasets": datasets, "rules": None, "better": None, "encoders": []}
    if datasets < FEWEST:
        return result
    result["rules"] = checked(known)
    result["better"] = _better(result["rules"])
    families = {row.family for row in known}
    for encoder in dict.fromkeys(row["encoder"] for row in measured["ranking"]):
        # The best layer is first.
        best = next(row for row in measured["ranking"] if row["encoder"] == encoder)
        features = _features(
            measured["kind"], best["probe"], measured["constant"], measured["examples"]["train"]
        )
        values = {name: rule(known, features) for name, rule in RULES.items()}
        of_family = best["family"] in families
        result["encoders"].append({"encoder": encoder, "predicted": values if of_family else None})
    return result


def checked(known: Sequence[Published]) -> dict[str, dict[str, float]]:
    """Of each rule, where each data set is predicted from the others: `right` signs `of` all rows,
    and the mean absolute `error`."""
    rules, found = {}, [row.difference for row in known]
    for name, predicted in held_out(known).items():
        rules[name] = {
            "right": int(np.sum(np.sign(predicted) == np.sign(found))),
            "of": len(known),
            "error": float(np.mean(np.abs(np.subtract(predicted, found)))),
        }
    return rules


def held_out(known: Sequence[Published]) -> dict[str, list[float]]:
    """What each rule predicts of each row from the rows of other data sets."""
    return {
        name: [rule(_others(known, row), _of(row)) for row in known] for name, rule in RULES.items()
    }


def _scores(metric: str) -> str:
    """The family of a metric; one that is pooled with no other is its own."""
    return FAMILIES.get(metric, metric)


def _others(known: Sequence[Published], left_out: Published) -> list[Published]:
    return [row for row in known if row.dataset != left_out.dataset]


def _better(rules: dict[str, dict[str, float]]) -> bool:
    """Whether the regression has a smaller error than each other rule, and no fewer signs right."""
    regression = rules[REGRESSION]
    return all(
        regression["error"] < other["error"] and regression["right"] >= other["right"]
        for name, other in rules.items()
        if name != REGRESSION
    )


def _features(kind: str, probe: float, constant: float, examples: int) -> dict[str, Any]:
    """The probe as a share of what a constant answer leaves."""
    share = (probe - constant) / (1 - constant)
    return {"kind": kind, "probe": share, "examples": math.log10(examples)}


def _of(row: Published) -> dict[str, Any]:
    return _features(row.kind, row.probe, row.constant, row.examples)


def _ridge(known: Sequence[Published], features: dict[str, Any]) -> float:
    """Ridge regression on standardised features, whose penalty has the least leave-one-out error;
    with the strongest it is the mean."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(DictVectorizer(sparse=False), StandardScaler(), RidgeCV(PENALTIES))
    model.fit([_of(row) for row in known], [row.difference for row in known])
    return float(model.predict([features])[0])


def _mean(known: Sequence[Published], features: dict[str, Any]) -> float:
    return float(np.mean([row.difference for row in known]))


def _majority(known: Sequence[Published], features: dict[str, Any]) -> float:
    """The more frequent sign (of as many of each 🔥's), with the mean size."""
    differences = np.array([row.difference for row in known])
    sign = 1 if np.sign(differences).sum() >= 0 else -1
    return float(sign * np.abs(differences).mean())


REGRESSION = "ridge regression"
RULES: dict[str, Callable[[Sequence[Published], dict[str, Any]], float]] = {
    REGRESSION: _ridge,
    "mean of the others": _mean,
    "majority sign": _majority,
}


def first_line(result: dict[str, Any]) -> str:
    """What is to be said before all else."""
    if result["rules"] is None:
        return (
            f"🔥 − ❄ is not predicted: expected published comparisons of {result['scores']} on at "
            f"least {FEWEST} other data sets, got {result['datasets']}."
        )
    if not result["better"]:
        return "The prediction of 🔥 − ❄ is no better than rules without measures."
    return "The prediction of 🔥 − ❄ is better than rules without measures."


def lines_of(result: dict[str, Any]) -> list[str]:
    """A line for each rule, then one for each encoder."""
    if result["rules"] is None:
        return []
    lines = [f"🔥 − ❄ in points; each of {result['datasets']} data sets from the others:"]
    for name, rule in result["rules"].items():
        lines.append(
            f"  {name}: {rule['right']} of {rule['of']} signs right, "
            f"mean error {words.score(rule['error'])}"
        )
    for row in result["encoders"]:
        values = row["predicted"]
        if values is None:
            lines.append(f"{row['encoder']}: not predicted, none of its family was compared")
            continue
        shown = (f"{words.signed_points(value)} ({name})" for name, value in values.items())
        lines.append(f"{row['encoder']}: {', '.join(shown)}")
    return lines
