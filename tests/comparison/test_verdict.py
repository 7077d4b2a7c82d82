"""What a comparison's numbers are made to say."""

from itertools import combinations

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


def cell(name, scores, adaptation="fine_tuning", parameters=4000, **changes):
    mean = None if None in scores else sum(scores) / len(scores)
    return {
        "id": name,
        "encoder": "elmo_small",
        "family": "elmo",
        "pretrained": True,
        "pairs": "separate",
        "adaptation": adaptation,
        "settings": {},
        "head": "crf",
        "scores": list(scores),
        "mean": mean,
        "deviation": 0.01 if len(scores) > 1 else None,
        "costs": COSTS | {"trainable_parameters": parameters},
    } | changes


def frozen(*scores, **changes):
    return cell("cold", scores, "feature_extraction", 1000, **changes)


def tuned(*scores, **changes):
    return cell("warm", scores, **changes)


def middle(*scores, **changes):
    return cell("tepid", scores, "two_stage", **changes)


def pair(difference, interval, decided=False, seeds_needed=None, why="more_seeds"):
    return {
        "difference": difference,
        "interval": interval,
        "level": 0.95,
        "p": 0.01 if decided else 0.5,
        "p_holm": 0.02 if decided else 0.9,
        "decided": decided,
        "seeds_needed": seeds_needed,
        "why": "decided" if decided else why,
    }


def judged(cells, *pairs, seeds=3, kind="tagging", majority=None, truncated=None):
    """The verdict on cells, and the tests of every two of them in their order."""
    names = combinations([c["id"] for c in cells if None not in c["scores"]], 2)
    tests = [one | {"a": a, "b": b} for (a, b), one in zip(names, pairs, strict=True)]
    return verdict(
        {
            "kind": kind,
            "metric": "span_f1",
            "scored_on": "test",
            "chosen_on": "dev",
            "splits": {"test": "the test part", "dev": "the dev part"},
            "examples": {"test": 500, "dev": 200},
            "seeds": list(range(seeds)),
            "trials": 3,
            "cells": cells,
            "pairs": tests,
            "majority": majority,
            "truncated": truncated or {},
        }
    )


COLD, WARM = frozen(0.70, 0.71, 0.72), tuned(0.80, 0.81, 0.82)
FAR = pair(-0.10, [-0.12, -0.08], decided=True)
OPEN = pair(-0.02, [-0.05, 0.01], seeds_needed=7)
NEAR = pair(-0.002, [-0.006, 0.002])


def test_decided():
    found = judged([COLD, WARM], FAR)
    assert found["sentence"] == (
        "Use elmo_small with fine_tuning (crf head): 81.0 ± 1.0 span_f1, ahead of every other cell."
    )
    assert found["decided"]
    assert (found["best"], found["recommended"], found["alternatives"]) == ("warm", "warm", [])
    assert "the test part (500 examples)" in found["evidence"][0]
    assert "+10.0 points, 95 % interval +8.0 to +12.0" in found["evidence"][1]
    assert "4,000 of 5,000 parameters in 60 s" in found["evidence"][2]


def test_the_most_frequent_label_is_a_baseline():
    found = judged([COLD, WARM], FAR, majority={"label": "yes", "score": 0.684})
    assert "'yes', train's most frequent label, for every example scores 68.4." in found["evidence"]


def test_examples_that_were_cut_are_counted():
    cut = {"elmo_small": {"train": 0, "test": 0}, "bert_small": {"train": 1200, "test": 3}}
    found = judged([COLD, WARM], FAR, truncated=cut)["evidence"][1]
    assert found == "Examples cut at the encoder's limit: bert_small: 1,200 of train, 3 of test."
    assert "cut" not in " ".join(judged([COLD, WARM], FAR)["evidence"])


def test_alike_within_a_point_recommends_the_smallest():
    found = judged([COLD, WARM], NEAR)
    assert found["decided"]
    assert (found["best"], found["recommended"]) == ("warm", "cold")
    assert found["sentence"] == (
        "Use elmo_small with feature_extraction (crf head): 71.0 ± 1.0 span_f1. elmo_small with "
        "fine_tuning (crf head) is alike, within a point of the best, and it trains the fewest "
        "parameters of them."
    )
    assert "trains 1,000 of" in found["evidence"][2]  # the costs of what is recommended


def test_three_alike_are_all_named():
    found = judged([COLD, WARM, middle(0.8, 0.8, 0.8)], NEAR, NEAR, NEAR)
    assert (
        "fine_tuning (crf head) and elmo_small with two_stage (crf head) are alike"
        in (found["sentence"])
    )


@pytest.mark.parametrize(
    ("needed", "why", "said"),
    [
        (7, "more_seeds", "4 more seeds would probably decide"),
        (4, "more_seeds", "1 more seed would probably decide"),
        (None, "more_seeds", "more than 100 seeds would be needed"),
        (None, "more_test_examples", "no number of seeds would do, only more test examples"),
    ],
)
def test_not_decided(needed, why, said):
    found = judged([COLD, WARM], pair(-0.02, [-0.05, 0.01], seeds_needed=needed, why=why))
    assert found["sentence"].startswith("Not decided between elmo_small with fine_tuning")
    assert f": {said}. Until then" in found["sentence"]
    assert not found["decided"]
    assert (found["best"], found["recommended"]) == ("warm", "cold")
    assert found["alternatives"] == ["cold"]


def test_open_for_different_reasons():
    items = pair(0.01, [-0.05, 0.06], why="more_test_examples")
    found = judged([COLD, WARM, middle(0.8, 0.8, 0.8)], OPEN, NEAR, items)
    assert (
        "by the pair, 4 more seeds would probably decide, or no number of seeds would do, only "
        "more test examples" in found["sentence"]
    )


@pytest.mark.parametrize(
    "decided, said",
    [
        (0, "any of the 4 other pretrained cells"),
        (1, "3 of the 4 other pretrained cells"),
        (2, "a with fine_tuning (crf head) and b with fine_tuning (crf head)"),
        (3, "a with fine_tuning (crf head)"),
    ],
)
def test_the_sentence_names_few_cells(decided, said):
    others = [cell(name, (0.7, 0.7, 0.7), encoder=name) for name in "abcd"]
    against_best = [OPEN] * (4 - decided) + [FAR] * decided
    found = judged([WARM, *others], *against_best, *[OPEN] * 6)
    assert f"(81.0 ± 1.0) and {said}: " in found["sentence"]
    assert found["alternatives"] == list("abcd")[: 4 - decided]


def test_one_seed_decides_nothing():
    near = pair(-0.001, [-0.002, 0.002], why="one_seed")
    found = judged([frozen(0.70), tuned(0.80)], near, seeds=1)
    assert "one seed says nothing about seeds" in found["sentence"]
    assert not found["decided"]


def test_tests_are_told_from_the_best_cell():
    found = judged([COLD, WARM], OPEN | {"p_holm": 0.0004})
    assert (
        "fine_tuning (crf head) against elmo_small with feature_extraction (crf head): +2.0 points,"
        " 95 % interval −1.0 to +5.0, p < 0.001 after Holm's correction: not decided."
    ) in found["evidence"][1]


def test_one_item_has_no_interval():
    found = judged([frozen(0.0, 0.0), tuned(1.0, 1.0)], pair(-1.0, None), seeds=2)
    assert "no interval" in found["evidence"][1]


def test_untrained_cells_are_a_baseline_and_never_win():
    noise = cell("noise", [0.9, 0.9, 0.9], pretrained=False)
    found = judged([COLD, noise], pair(-0.2, [-0.3, -0.1], decided=True))
    assert found["recommended"] == "cold"
    assert "Only one pretrained cell" in found["sentence"]
    assert not found["decided"]
    assert "elmo_small untrained with fine_tuning" in found["evidence"][-1]
    assert "not shown to be worth anything" in found["evidence"][-1]


def test_what_the_pretraining_is_worth():
    noise = cell("noise", [0.5, 0.5, 0.5], pretrained=False)
    far = pair(0.2, [0.1, 0.3], decided=True)
    found = judged([COLD, WARM, noise], FAR, far, far)
    assert "reaches 50.0 ± 1.0" in found["evidence"][-1]
    assert "the pretraining is worth 31.0 points" in found["evidence"][-1]
    other = judged([COLD, WARM, noise | {"encoder": "bert_small"}], FAR, far, far)
    assert not any("untrained reaches" in line for line in other["evidence"])


def test_cells_that_would_be_called_alike_are_called_by_their_ids():
    joint, apart = tuned(0.8, 0.8), cell("apart", [0.7, 0.7])
    found = judged([joint | {"pairs": "joint"}, apart], pair(0.1, [0.05, 0.15], True), seeds=2)
    assert found["sentence"].startswith("Use warm: 80.0")
    assert "warm against apart" in found["evidence"][1]


def test_unfinished_cells_are_left_out_and_named():
    found = judged([COLD, tuned(0.9, None, 0.9)])
    assert found["recommended"] == "cold"
    assert found["sentence"].endswith(
        "Not finished, and left out: elmo_small with fine_tuning (crf head)."
    )
    nothing = judged([tuned(None, None, None)])
    assert nothing["recommended"] is None
    assert "Nothing to judge" in nothing["sentence"]


@pytest.mark.parametrize(
    ("test", "agrees", "said"),
    [
        (NEAR, True, "❄ and 🔥 are alike"),  # as table 1 says of labelling
        (FAR, False, "🔥 is ahead"),
        (OPEN, None, "it is not decided"),
    ],
)
def test_agreement_with_the_paper(test, agrees, said):
    found = judged([COLD, WARM], test)["guideline"]
    assert found["agrees"] is agrees
    assert f"Here, elmo_small: {said}" in found["sentence"]


def test_paper_says_freeze_elmo_for_pairs():
    cells = [frozen(0.80, 0.81, 0.82), tuned(0.70, 0.71, 0.72)]
    far = pair(0.1, [0.08, 0.12], decided=True)
    assert judged(cells, far, kind="pair_classification")["guideline"]["agrees"] is True
    alone = judged(cells[:1], kind="pair_classification")["guideline"]
    assert alone["agrees"] is None
    assert "not both run" in alone["sentence"]


def test_the_best_frozen_and_the_best_tuned_head_are_compared():
    cells = [
        frozen(0.80, 0.80, 0.80),
        cell("other", [0.60, 0.60, 0.60], "feature_extraction", head="linear"),
        tuned(0.70, 0.70, 0.70),
    ]
    far, near = pair(0.2, [0.1, 0.3], True), pair(0.1, [0.08, 0.12], True)
    found = judged(cells, far, near, OPEN, kind="pair_classification")
    assert found["guideline"]["agrees"] is True


def test_gradual_unfreezing_is_tuning_too():
    cells = [COLD, cell("slow", [0.8, 0.8, 0.8], "gradual_unfreezing")]
    assert judged(cells, FAR)["guideline"]["families"]["elmo"]["here"] == {
        "elmo_small": "fine_tuning"
    }
