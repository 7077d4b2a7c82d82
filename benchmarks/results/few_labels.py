"""Contrastive tuning beside SetFit: the table of docs/contrastive.json."""

import json

import numpy as np

from benchmarks.results.adding import ROOT
from benchmarks.results.blocks import Contents, as_table
from tf_adapt.printing import words

FILE = "docs/contrastive.json"
CONTESTANTS = ("ours", "SetFit")


def few_labels_block(contents: Contents, name: str) -> str:
    """As `table`, of what is committed."""
    return table(json.loads((ROOT / FILE).read_text("utf-8")))


def table(scores: dict[str, dict[str, dict[str, dict[str, float]]]]) -> str:
    """Means and deviations over the draws that both have, × 100, and the mean difference with its
    standard error.

    Args:
        scores: by `DATASET/TEXTS A LABEL`, contestant, draw, metric.
    """
    head = ["texts a label", "data", "draws", *CONTESTANTS, "ours − SetFit"]
    return as_table(head, [_row(key, of_draws) for key, of_draws in scores.items()])


def _row(key: str, of_draws: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    dataset, size = key.split("/")
    metric = "matthews" if dataset == "cola" else "accuracy"
    draws = sorted(set.intersection(*(set(of_draws[name]) for name in CONTESTANTS)))
    values = np.array([[of_draws[name][draw][metric] for draw in draws] for name in CONTESTANTS])
    differences = values[0] - values[1]
    error = differences.std(ddof=1) / np.sqrt(len(draws)) if len(draws) > 1 else None
    return [
        size,
        f"{dataset}, {words.metric_name(metric)}",
        str(len(draws)),
        *(_mean(row) for row in values),
        f"{words.signed_points(differences.mean())} (± {100 * error:.1f})"
        if error is not None
        else "",
    ]


def _mean(values: np.ndarray) -> str:
    if len(values) < 2:
        return words.NOTHING
    return f"{words.score(values.mean())} ± {100 * values.std(ddof=1):.1f}"
