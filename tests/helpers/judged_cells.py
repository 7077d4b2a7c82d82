"""Cells and tests that somebody wrote, and the verdict on them."""

from dataclasses import replace
from itertools import combinations
from statistics import mean

import report_contents

from tf_adapt.comparison.verdict.verdict import verdict
from tf_adapt.report.content import BaselineScores, ScoredItems
from tf_adapt.report.scored_cells import Costs, FailedSeeds, ScoredCell, SeedResults
from tf_adapt.statistics.relation import BaselineTest, PairTest

COSTS = Costs(
    trainable_parameters=1000,
    total_parameters=5000,
    training_seconds=60.0,
    peak_memory_mb=900.0,
    serving_seconds_per_1000=3.0,
    task_megabytes=0.004,
)
# Of 'yes' as the answer to everything.
BASELINE = 0.40


def cell(
    name,
    scores,
    adaptation="fine_tuning",
    parameters=4000,
    outcomes=None,
    deviation=0.01,
    **changes,
):
    """Scores of None are of seeds that diverged."""
    ended = outcomes or ["diverged" if score is None else "trained" for score in scores]
    trained = [s for s, how in zip(scores, ended, strict=True) if how == "trained"]
    used = trained or [score for score in scores if score is not None]
    results = SeedResults(
        scores=list(scores),
        outcomes=ended,
        trained=len(trained),
        failed=FailedSeeds(ended.count("diverged"), ended.count("one_answer")),
        mean=mean(used) if used else None,
        deviation=deviation if len(used) > 1 else None,
        min=min(used, default=None),
        max=max(used, default=None),
        mean_of_all=mean(BASELINE if s is None else s for s in scores),
    )
    found = ScoredCell(
        id=name,
        encoder="elmo_small",
        module=None,
        execution=None,
        family="elmo",
        pretrained=True,
        pairs="separate",
        adaptation=adaptation,
        settings={},
        head="crf",
        learning_rate=0.001,
        tried=[],
        results=results,
        costs=replace(COSTS, trainable_parameters=parameters),
        curves=[],
        layer_weights=None,
        confusion=None,
        commands=[],
    )
    return replace(found, **changes)


def frozen(*scores, **changes):
    return cell("cold", scores, "feature_extraction", 1000, **{"head": "bcn"} | changes)


def tuned(*scores, **changes):
    return cell("warm", scores, **changes)


def middle(*scores, **changes):
    return cell("tepid", scores, "two_stage", **changes)


def untrained(*scores, **changes):
    return cell("noise", scores, pretrained=False, **changes)


def pair(difference, interval, decided=False, alike=False, seeds_needed=None, why="more_seeds"):
    return PairTest(
        a="",
        b="",
        difference=difference,
        interval=interval,
        level=0.97,
        p=0.01 if decided else 0.5,
        p_holm=0.02 if decided else 0.9,
        decided=decided,
        alike=alike,
        seeds_needed=seeds_needed,
        why="decided" if decided else "alike" if alike else why,
    )


def judged(cells, *pairs, seeds=3, above=True, **changes):
    """The verdict on cells, and the tests of every two that trained in their order.

    Args:
        above: whether the cells are above the baseline, or the names of those that are.
    """
    trained = [c.id for c in cells if c.results.trained]
    tests = [
        replace(one, a=a, b=b) for (a, b), one in zip(combinations(trained, 2), pairs, strict=True)
    ]
    against = {
        name: BaselineTest(0.3, 0.001, 0.002, above if isinstance(above, bool) else name in above)
        for name in trained
    }
    content = replace(
        report_contents.comparison(cells, range(seeds)),
        kind="tagging",
        metric="span_f1",
        splits={"test": "the test part", "dev": "the dev part"},
        examples={"test": 500, "dev": 200},
        items=ScoredItems(count=480, text="500 pairs in 480 groups", overlap_with_train=0),
        pairs=tests,
        baseline=BaselineScores(answer="O", score=BASELINE, chosen_on=0.4, cells=against),
        truncated={},
        verdict=None,
    )
    return verdict(replace(content, **changes))


COLD, WARM = frozen(0.70, 0.71, 0.72), tuned(0.80, 0.81, 0.82)
FAR = pair(-0.10, [-0.12, -0.08], decided=True)
OPEN = pair(-0.02, [-0.05, 0.01], seeds_needed=[7, 30])
NEAR = pair(-0.002, [-0.006, 0.002], alike=True)
