"""The faults that are injected, and how an outcome is counted."""

import json
from pathlib import Path

import numpy as np

from benchmarks import diagnosis
from benchmarks.diagnosis_data import DATASETS
from tf_adapt.comparison.diagnosis.causes import CAUSES


def test_faults_have_known_causes_and_datasets_known_faults():
    assert {fault.cause for fault in diagnosis.FAULTS.values()} <= set(CAUSES)
    for dataset in DATASETS.values():
        assert set(dataset.faults) <= set(diagnosis.FAULTS)
        assert dataset.foreign is not None or "other domain" not in dataset.faults
        assert dataset.kind in diagnosis.HEALTHY


def test_noise_changes_a_share_of_the_labels_of_train_alone():
    splits = {
        name: [{"text": f"{name} {n}", "label": str(n % 3)} for n in range(40)]
        for name in ("train", "dev")
    }
    found = diagnosis._noisy(splits, DATASETS["trec"], np.random.default_rng(0))
    pairs = zip(splits["train"], found["train"], strict=True)
    changed = [(before, after) for before, after in pairs if before != after]
    assert len(changed) == 12 and found["dev"] is splits["dev"]
    assert all(before["text"] == after["text"] for before, after in changed)


def test_a_fault_without_harm_does_not_count():
    def row(injected, harm, *named):
        return {"injected": injected, "harm": harm, "named": list(named)}

    rows = [
        row("rate_too_high", 0.2, "collapsed", "rate_too_high"),
        row("too_few_steps", 0.1, "rate_too_low"),
        row("unscaled_states", 0.01, "unscaled_states"),
        row("", None),
        row("", None, "too_few_steps"),
    ]
    assert diagnosis._summary(rows) == (
        "3 faults, 2 do harm, 1 of these named; a cause in 1 of 2 healthy runs"
    )


def test_the_recorded_outcome_is_that_of_the_guide():
    docs = Path(__file__).parents[2] / "docs"
    rows = json.loads((docs / "diagnosis.json").read_text("utf-8"))
    assert diagnosis._summary(rows) == (
        "11 faults, 10 do harm, 10 of these named; a cause in 1 of 20 healthy runs"
    )
    text = (docs / "guide_comparing.md").read_text("utf-8")
    assert "of eleven injected faults ten did harm, 14 points and more, and all ten" in text
    assert min(row["harm"] for row in rows if row["injected"] in row["named"]) >= 0.14
