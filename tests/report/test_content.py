"""The plain form of a comparison's content is format 4 of `report.json`, key by key."""

import json

import report_contents as contents
import simulated_comparisons as simulated

from tf_adapt.report.content import to_json

RESULTS = [
    "scores", "outcomes", "trained", "failed", "mean", "deviation", "min", "max", "mean_of_all",
]  # fmt: skip


def test_format_4():
    found = to_json(contents.complete())
    assert found["format"] == 4
    assert list(found) == [
        "format", "summary", "dataset", "kind", "metric", "labels", "splits", "scored_on",
        "chosen_on", "examples", "items", "seeds", "trials", "different", "look", "cells",
        "learning_curves", "pairs", "pairs_with_failed", "baseline", "references", "slices",
        "disagreements", "versions", "modules", "truncated", "data", "machine", "command",
        "start", "teacher", "weak", "verdict",
    ]  # fmt: skip
    assert list(found["cells"][0]) == [
        "id", "encoder", "module", "execution", "family", "pretrained", "pairs",
        "classification_token", "long", "prompts", "adaptation", "settings", "head",
        "learning_rate", "tried",
        *RESULTS, "costs", "curves", "layer_weights", "confusion", "commands",
        "labels", "reliability", "forgetting", "reads",
    ]  # fmt: skip
    assert found["cells"][0]["failed"] == {"diverged": 0, "one_answer": 0}
    assert list(found["cells"][0]["tried"][0]) == ["learning_rate", "score"]
    assert list(found["pairs"][0]) == [
        "a", "b", "difference", "interval", "level", "p", "p_holm", "decided", "alike",
        "seeds_needed", "larger_design", "why", "error",
    ]  # fmt: skip
    (point, *_) = found["learning_curves"]["points"]
    assert list(point) == [
        "examples", "cells", "lacking", "frozen", "tuned", "difference", "p", "p_in_order",
        "interval", "ahead",
    ]  # fmt: skip
    assert list(point["cells"][found["cells"][0]["id"]]) == ["learning_rate", *RESULTS]
    assert list(found["verdict"]) == [
        "sentence", "decided", "above_baseline", "best", "alternatives", "recommended", "next_step",
        "first", "evidence", "guideline", "exported",
    ]  # fmt: skip


def test_verdict_guideline_and_baseline():
    found = to_json(simulated.two_alike())
    guideline = found["verdict"]["guideline"]
    assert list(guideline) == ["sentence", "agrees", "families"]
    assert list(guideline["families"]["bert"]) == ["better", "sentence", "here"]
    tests = found["baseline"].pop("cells")
    assert list(found["baseline"]) == ["answer", "score", "chosen_on"]
    assert list(tests[found["cells"][0]["id"]]) == ["difference", "p", "p_holm", "above"]


def test_plain_values_only():
    for plan in (contents.complete, contents.incomplete, contents.one_cell, *simulated.ALL):
        found = to_json(plan())
        assert json.loads(json.dumps(found, allow_nan=False)) == found
