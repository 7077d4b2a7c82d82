"""Comparisons as a user may have them, each with its verdict.

`python tests/helpers/headline_cases.py` writes what a reader is told first of each into
`tests/comparison/headlines.txt`.
"""

from dataclasses import replace
from pathlib import Path

import report_contents
import simulated_comparisons as simulated
from judged_cells import (
    COLD,
    FAR,
    NEAR,
    OPEN,
    WARM,
    cell,
    frozen,
    judged,
    middle,
    pair,
    tuned,
    untrained,
)

from tf_adapt.report.budget.screened import Screened
from tf_adapt.report.content import BaselineScores, ReferenceScores, ScoredItems
from tf_adapt.report.scored_cells import Trial
from tf_adapt.statistics.relation import BaselineTest

TEXTS = Path(__file__).parents[1] / "comparison" / "headlines.txt"


def texts(count):
    """Changes of a content with that many scored texts."""
    return {
        "items": ScoredItems(count=count, text=f"{count} texts", overlap_with_train=0),
        "examples": {"train": 325, "dev": 36, "test": count},
    }


def _labels(seeds=5, items=960, **changes):
    test = pair(-0.03, [-0.08, 0.02], why="more_test_examples")
    return replace(test, larger_design=[seeds, items], **changes)


def _rising():
    return replace(COLD, curves=[[0.5, 0.6, 0.7]] * 3)


def _at_edge():
    return replace(WARM, tried=[Trial(r, 0.6 + 10 * r) for r in (1e-3, 3e-3, 1e-2)],
                   learning_rate=1e-2)  # fmt: skip


def _signals():
    return [
        replace(COLD, settings={"signal": "none"}),
        replace(COLD, id="taught", settings={"signal": "teacher"}, results=WARM.results),
    ]


def _simple_model_ahead(*pairs):
    below = {name: BaselineTest(-0.05, 0.001, 0.002, False) for name in ("cold", "warm")}
    simple = ReferenceScores(name="TF-IDF + logistic regression", score=0.86, cells=below)
    return judged([COLD, WARM], *pairs, references=[simple])


def _constant():
    baseline = BaselineScores(answer="yes", score=0.712, chosen_on=0.712, cells={})
    constant = tuned(0.712, 0.712, 0.712, outcomes=["one_answer"] * 3, deviation=0.0)
    return judged([constant], baseline=baseline, kind="classification", metric="accuracy")


def _curves():
    content = simulated.joint_and_separate()
    return simulated.verdict(report_contents.with_parts_of_train(content, simulated.LABELS))


def _ahead_with_failed():
    far = replace(FAR, a="cold", b="warm")
    return judged([COLD, tuned(0.8, 0.81, None, 0.82, 0.83)], FAR, seeds=5, pairs_with_failed=[far])


MULTILABEL = {
    "kind": "multilabel_classification",
    "metric": "micro_f1",
    "baseline": BaselineScores(
        answer=["ORG", "PER"],
        score=0.528,
        chosen_on=0.5,
        cells={name: BaselineTest(0.2, 0.001, 0.002, True) for name in ("cold", "warm")},
    ),
}
# Name: verdict, and what it must be: (decided, what to do next, recommended cell).
CASES = {
    "decided": (lambda: judged([COLD, WARM], FAR), (True, "use", "warm")),
    "decided on 40 texts": (
        lambda: judged([COLD, WARM], FAR, **texts(40)), (True, "use", "warm"),
    ),
    "huge differences on ten items": (
        lambda: judged(
            [frozen(0.1, 0.1, 0.1), tuned(1.0, 1.0, 1.0)], pair(-0.9, [-1, -0.7], why="few_items"),
            above=False, **texts(10),
        ),
        (False, "label", "warm"),
    ),
    "alike": (lambda: judged([COLD, WARM], NEAR), (True, "use", "cold")),
    "a gain too small to pay for": (
        lambda: judged([COLD, WARM], pair(-0.003, [-0.005, -0.001], decided=True, alike=True)),
        (True, "use", "cold"),
    ),
    "many tied": (
        lambda: judged(
            [COLD, *(cell(n, (0.80, 0.81, 0.82), encoder=n) for n in "abcde")], *[NEAR] * 15
        ),
        (True, "use", "cold"),
    ),
    "tied, and some open": (
        lambda: judged([COLD, WARM, middle(0.8, 0.8, 0.8)], NEAR, OPEN, OPEN),
        (False, "seeds", "cold"),
    ),
    "undecided: seeds": (lambda: judged([COLD, WARM], OPEN), (False, "seeds", "warm")),
    "undecided within minutes": (
        lambda: judged([COLD, WARM], OPEN, budget=Screened(
            minutes=5.0, seconds=280.0, asked=5, cells=[],
        )),
        (False, "seeds", "warm"),
    ),
    "undecided: labels": (
        lambda: judged([COLD, WARM], _labels(3), **texts(40)), (False, "label", "warm"),
    ),
    "undecided: labels and seeds": (
        lambda: judged([COLD, WARM], _labels(10), **texts(40)), (False, "label", "warm"),
    ),
    "undecided, but close": (
        lambda: judged([COLD, WARM], pair(-0.004, [-0.016, 0.008], why="more_test_examples")),
        (False, "cheaper", "cold"),
    ),
    "undecided, no analysis left": (
        lambda: judged([COLD, WARM], pair(-0.03, [-0.08, 0.02], why="no_analysis_left")),
        (False, "seeds", "warm"),
    ),
    "undecided against five": (
        lambda: judged(
            [WARM, *(cell(n, (0.7, 0.7, 0.7), encoder=n) for n in "abcde")],
            *[pair(0.02, [-0.01, 0.05], seeds_needed=[7, 30])] * 15,
        ),
        (False, "seeds", "warm"),
    ),
    "nothing above the baseline": (
        lambda: judged([COLD, WARM], FAR, above=False), (False, "train", "warm"),
    ),
    "the recommended cell is not above the baseline": (
        lambda: judged([COLD, WARM], FAR, above=["cold"]), (False, "seeds", "warm"),
    ),
    "a seed of the best failed": (
        lambda: judged([COLD, tuned(0.8, None, 0.9)], FAR), (False, "train", "warm"),
    ),
    "a seed failed, ahead all the same": (_ahead_with_failed, (True, "use", "warm")),
    "every seed of a cell failed": (
        lambda: judged([frozen(None, None, None), WARM, middle(0.7, 0.7, 0.7)],
                       pair(0.1, [0.05, 0.15], True)),
        (True, "use", "warm"),
    ),
    "too few seeds of a cell trained": (
        lambda: judged([frozen(0.7, None, None), WARM], pair(-0.11, [-0.2, 0.0], why="few_seeds")),
        (False, "train", "warm"),
    ),
    "one seed": (
        lambda: judged([frozen(0.7), tuned(0.8)], pair(-0.1, [-0.2, 0.0], why="few_seeds"),
                       seeds=1),
        (False, "seeds", "warm"),
    ),
    "identical": (
        lambda: judged([COLD, replace(WARM, results=COLD.results)],
                       pair(0.0, [0.0, 0.0], why="identical")),
        (False, "cheaper", "cold"),
    ),
    "constant predictions": (_constant, (False, "train", "warm")),
    "nothing finished": (lambda: judged([tuned(None, None, None)]), (False, "train", None)),
    "several labels": (
        lambda: judged([COLD, WARM], FAR, **MULTILABEL), (True, "use", "warm"),
    ),
    "learning curves": (_curves, (True, "use", "bert_small joint fine_tuning linear")),
    "signals": (lambda: judged(_signals(), FAR), (True, "use", "taught")),
    "folds": (
        lambda: judged(
            [frozen(0.7, 0.72), tuned(0.8, 0.82)], FAR, seeds=2, folds=5,
            items=ScoredItems(count=401, text="401 texts", overlap_with_train=0),
            examples={"train": 289, "dev": 32, "test": 401},
        ),
        (True, "use", "warm"),
    ),
    "folds, undecided": (
        lambda: judged(
            [frozen(0.7, 0.72), tuned(0.72, 0.75)], _labels(2, 2100), seeds=2, folds=5,
            **texts(1200),
        ),
        (False, "label", "warm"),
    ),
    "folds, one repeat": (
        lambda: judged(
            [frozen(0.7), tuned(0.8)], pair(-0.1, [-0.2, 0.01], why="few_seeds"), seeds=1, folds=5,
        ),
        (False, "seeds", "warm"),
    ),
    "folds, a failed repeat": (
        lambda: judged(
            [frozen(0.7, 0.72), tuned(0.8, None)], pair(-0.1, [-0.2, 0.01], why="few_seeds"),
            seeds=2, folds=5,
        ),
        (False, "train", "warm"),
    ),
    "not trained to the end": (lambda: judged([_rising(), WARM], FAR), (True, "use", "warm")),
    "undecided, and not trained to the end": (
        lambda: judged([COLD, _at_edge()], OPEN), (False, "train", "warm"),
    ),
    "an untrained network is ahead": (
        lambda: judged([frozen(0.6, 0.6, 0.6), tuned(0.7, 0.7, 0.7), untrained(0.74, 0.74, 0.74)],
                       FAR, FAR, pair(-0.04, [-0.05, -0.03], decided=True)),
        (False, "train", "warm"),
    ),
    "an untrained network is not behind": (
        lambda: judged([COLD, WARM, untrained(0.79, 0.80, 0.81)], FAR, FAR,
                       pair(0.01, [-0.05, 0.06], seeds_needed=[9, 40])),
        (False, "seeds", "warm"),
    ),
    "one cell": (lambda: judged([COLD]), (False, "use", "cold")),
    "a simple model is ahead": (lambda: _simple_model_ahead(FAR), (True, "label", "warm")),
    "a simple model is ahead, undecided": (
        lambda: _simple_model_ahead(OPEN), (False, "label", "warm"),
    ),
}  # fmt: skip


def told() -> str:
    """What a reader is told first of each case."""
    parts = []
    for name, (case, _) in CASES.items():
        found = case()
        parts.append("\n".join([f"## {name}", found.sentence, *(f"- {x}" for x in found.first)]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    TEXTS.write_text(told(), "utf-8")
