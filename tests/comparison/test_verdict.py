"""What a comparison's numbers are made to say."""

import pytest

from tf_adapt.comparison.verdict import verdict

COSTS = {
    "trainable_parameters": 1000,
    "total_parameters": 5000,
    "training_seconds": 60.0,
    "peak_memory_mb": 900.0,
    "serving_seconds_per_1000": 3.0,
    "task_megabytes": 0.004,
}


def cell(name, scores, adaptation="fine_tuning", seconds=60.0, **changes):
    mean = None if None in scores else sum(scores) / len(scores)
    return {
        "id": name,
        "encoder": "elmo_small",
        "family": "elmo",
        "pretrained": True,
        "adaptation": adaptation,
        "settings": {},
        "head": "crf",
        "scores": list(scores),
        "mean": mean,
        "deviation": 0.01 if len(scores) > 1 else None,
        "costs": COSTS | {"training_seconds": seconds},
    } | changes


def pair(a, b, difference, interval, decided=False, seeds_needed=None, why=None):
    return {
        "a": a,
        "b": b,
        "difference": difference,
        "interval": interval,
        "level": 0.95,
        "p": 0.01 if decided else 0.5,
        "p_holm": 0.02 if decided else 0.9,
        "decided": decided,
        "seeds_needed": seeds_needed,
        "why": why or ("decided" if decided else "more_seeds"),
    }


def content(cells, pairs, seeds=(0, 1, 2), kind="tagging"):
    return {
        "kind": kind,
        "metric": "span_f1",
        "scored_on": "test",
        "chosen_on": "dev",
        "splits": {"test": "the test part", "dev": "the dev part"},
        "examples": {"test": 500, "dev": 200},
        "seeds": list(seeds),
        "trials": 3,
        "cells": cells,
        "pairs": pairs,
    }


def frozen(scores, seconds=10.0, **changes):
    return cell("cold", scores, "feature_extraction", seconds, **changes)


def tuned(scores, seconds=60.0, **changes):
    return cell("warm", scores, "fine_tuning", seconds, **changes)


def test_decided():
    found = verdict(
        content(
            [frozen([0.70, 0.71, 0.72]), tuned([0.80, 0.81, 0.82])],
            [pair("cold", "warm", -0.10, [-0.12, -0.08], decided=True)],
        )
    )
    assert found["sentence"].startswith("Use elmo_small with fine_tuning (crf head): 81.0 ± 1.0")
    assert found["decided"]
    assert (found["best"], found["recommended"], found["alternatives"]) == ("warm", "warm", [])
    assert "+10.0 points, 95 % interval +8.0 to +12.0" in found["evidence"][1]
    assert "the test part (500 examples)" in found["evidence"][0]
    assert "1,000 of 5,000 parameters in 60 s" in found["evidence"][-1]


def test_alike_within_a_point_recommends_the_cheapest():
    found = verdict(
        content(
            [frozen([0.80, 0.80, 0.80]), tuned([0.801, 0.802, 0.803])],
            [pair("cold", "warm", -0.002, [-0.006, 0.002])],
        )
    )
    assert found["decided"]
    assert (found["best"], found["recommended"]) == ("warm", "cold")
    assert "within a point" in found["sentence"]
    assert "cheapest" in found["sentence"]


@pytest.mark.parametrize(
    ("needed", "why", "said"),
    [
        (7, "more_seeds", "4 more seeds would be needed"),
        (None, "more_test_examples", "only more test examples would"),
    ],
)
def test_not_decided(needed, why, said):
    found = verdict(
        content(
            [frozen([0.70, 0.71, 0.72]), tuned([0.72, 0.73, 0.74])],
            [pair("cold", "warm", -0.02, [-0.05, 0.01], seeds_needed=needed, why=why)],
        )
    )
    assert found["sentence"].startswith("Not decided between elmo_small with fine_tuning")
    assert said in found["sentence"]
    assert not found["decided"]
    assert (found["best"], found["recommended"], found["alternatives"]) == (
        "warm",
        "cold",
        ["cold"],
    )


def test_one_seed_decides_nothing():
    found = verdict(
        content(
            [frozen([0.70]), tuned([0.80])],
            [pair("cold", "warm", -0.1, [-0.12, -0.08], why="one_seed")],
            seeds=(0,),
        )
    )
    assert "one seed says nothing about seeds" in found["sentence"]
    assert not found["decided"]


def test_one_item_has_no_interval():
    found = verdict(
        content([frozen([0.0, 0.0]), tuned([1.0, 1.0])], [pair("cold", "warm", -1.0, None)])
    )
    assert "no interval" in found["evidence"][1]


def test_untrained_cells_are_a_baseline_and_never_win():
    cells = [
        frozen([0.70, 0.71, 0.72]),
        cell("noise", [0.9, 0.9, 0.9], "fine_tuning", pretrained=False),
    ]
    found = verdict(content(cells, [pair("cold", "noise", -0.2, [-0.3, -0.1], decided=True)]))
    assert found["recommended"] == "cold"
    assert "Only one cell" in found["sentence"]
    assert "untrained reaches 90.0" in found["evidence"][-1]


def test_unfinished_cells_do_not_count():
    cells = [frozen([0.70, 0.71, 0.72]), tuned([0.9, None, 0.9])]
    assert verdict(content(cells, []))["recommended"] == "cold"
    nothing = verdict(content([tuned([None, None, None])], []))
    assert nothing["recommended"] is None
    assert "Nothing to judge" in nothing["sentence"]


@pytest.mark.parametrize(
    ("difference", "interval", "decided", "agrees"),
    [
        (-0.002, [-0.006, 0.002], False, True),  # alike, as table 1 says of labelling
        (-0.10, [-0.12, -0.08], True, False),
        (-0.02, [-0.05, 0.01], False, None),
    ],
)
def test_agreement_with_the_paper(difference, interval, decided, agrees):
    cells = [frozen([0.70, 0.71, 0.72]), tuned([0.72, 0.73, 0.74])]
    found = verdict(content(cells, [pair("cold", "warm", difference, interval, decided)]))
    assert found["guideline"]["agrees"] is agrees


def test_paper_says_freeze_elmo_for_pairs():
    cells = [frozen([0.80, 0.81, 0.82]), tuned([0.70, 0.71, 0.72])]
    pairs = [pair("cold", "warm", 0.1, [0.08, 0.12], decided=True)]
    found = verdict(content(cells, pairs, kind="pair_classification"))
    assert found["guideline"]["agrees"] is True
    alone = verdict(content(cells[:1], [], kind="pair_classification"))
    assert alone["guideline"]["agrees"] is None
    assert "not both run" in alone["guideline"]["sentence"]
