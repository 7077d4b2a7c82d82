"""From how many training examples on tuning pays: tests at each number, and what is said."""

from dataclasses import replace

import numpy as np
import pytest
import report_contents

from tf_adapt.comparison.verdict.learning_curves import Size, learning_curves
from tf_adapt.report.scored_cells import FailedSeeds, LackingLabels, SizedCell
from tf_adapt.statistics.alpha_spending import LEVELS
from tf_adapt.statistics.pairs import compare_pairs


def cell(name, adaptation="fine_tuning", pretrained=True):
    found = report_contents.cell("bert", adaptation, (0.5,), pretrained=pretrained)
    return replace(found, id=name)


COLD, ICE = cell("cold", "feature_extraction"), cell("ice", "feature_extraction")
WARM, TEPID = cell("warm"), cell("tepid", "two_stage")
RANDOM = cell("random", pretrained=False)


def size(examples, failed=(), seeds=4, items=400, **accuracies):
    """Cells that answer each item rightly with a probability of its own around their accuracy."""
    random = np.random.default_rng(examples)
    hard = random.normal(size=items)
    statistics, cells = {}, {}
    for name, accuracy in accuracies.items():
        noise = random.normal(size=(seeds, items))
        score = hard + noise
        right = score < np.quantile(score, accuracy)
        statistics[name] = np.stack([right, np.ones_like(right)], -1).astype(float)
        results = report_contents.with_results(
            WARM,
            mean=right.mean(1).mean(),
            failed=FailedSeeds(diverged=0, one_answer=1 if name in failed else 0),
        ).results
        cells[name] = SizedCell(0.001, results)
    return Size(examples, cells, statistics, LackingLabels(0, []))


def curves(*sizes, cells=(COLD, WARM), look=1):
    return learning_curves("accuracy", sizes, cells, look)


def ahead(found) -> list:
    return [point.ahead for point in found.points]


def test_two_cells_are_tested_at_each_number_from_the_largest_down():
    sizes = [size(100, cold=0.7, warm=0.7), size(300, cold=0.7, warm=0.8)]
    found = curves(*sizes)
    p_values = [compare_pairs("accuracy", one.statistics)[0].p for one in sizes]
    assert [point.p for point in found.points] == p_values
    small, large = sorted(p_values)
    assert large > 0.1 > small
    assert [point.p_in_order for point in found.points] == [large, small]
    assert ahead(found) == [None, "tuning"]
    below = curves(size(100, cold=0.7, warm=0.8), size(300, cold=0.7, warm=0.7))
    assert ahead(below) == [None, None]  # the larger number ends the sequence
    assert below.points[0].p_in_order == below.points[1].p > LEVELS[0] > below.points[0].p
    assert found.level == LEVELS[0]
    assert found.points[1].difference == pytest.approx(0.1, abs=0.02)


def test_the_best_of_a_group_is_ahead_of_all_of_the_other_corrected_for_the_choice():
    """The largest of its p-values, times the cells that it is the best of."""
    one = size(100, cold=0.68, ice=0.71, warm=0.78, tepid=0.7)
    found = curves(one, cells=(COLD, ICE, WARM, TEPID)).points[0]
    pairs = {(pair.a, pair.b): pair.p for pair in compare_pairs("accuracy", one.statistics)}
    largest = max(pairs["cold", "warm"], pairs["ice", "warm"])
    assert (found.tuned, found.frozen) == ("warm", "ice")
    assert found.p == pytest.approx(2 * largest)
    turned = size(100, cold=0.8, warm=0.7, tepid=0.71)
    pairs = {(pair.a, pair.b): pair.p for pair in compare_pairs("accuracy", turned.statistics)}
    found = curves(turned, cells=(COLD, WARM, TEPID)).points[0]
    assert found.p == pytest.approx(max(pairs["cold", "warm"], pairs["cold", "tepid"]))
    assert found.ahead == "frozen"


def test_equal_cells_are_hardly_ever_decided():
    """Over three numbers and both directions, at most at the level of the look, 3 %."""
    decided = sum(
        any(ahead(curves(*(size(9000 + 3 * n + k, cold=0.7, ice=0.7, warm=0.7, tepid=0.7, items=100)
                           for k in range(3)), cells=(COLD, ICE, WARM, TEPID))))
        for n in range(100)
    )  # fmt: skip
    assert decided <= 7  # of 100 at 3 %: more has a probability of 1 %


def test_networks_without_pretraining_are_in_neither_group():
    found = curves(size(100, cold=0.7, random=0.9, warm=0.8), cells=(COLD, RANDOM, WARM))
    assert (found.points[0].tuned, ahead(found)) == ("warm", ["tuning"])
    alone = curves(size(100, cold=0.7, random=0.9), cells=(COLD, RANDOM))
    assert (alone.sentence, alone.points[0].p) == ("", None)


def test_what_cannot_be_tested_is_not_decided_and_takes_no_part_in_the_correction():
    good = size(300, cold=0.7, warm=0.8)
    (p,) = (point.p for point in curves(good).points)
    for bad in (
        size(100, cold=0.5, warm=0.9, seeds=1),
        size(100, cold=0.5, warm=0.9, items=19),
        size(100, cold=0.5, warm=0.9, failed=["warm"]),
        size(100, cold=0.5),  # the other cell trained with no seed
        size(100),
    ):
        found = curves(bad, good)
        assert ahead(found) == [None, "tuning"]
        assert [point.p_in_order for point in found.points] == [None, p]
    # That a cell is behind where seeds of it failed is said all the same.
    assert ahead(curves(size(100, cold=0.5, warm=0.9, failed=["cold"]))) == ["tuning"]


def test_later_looks_have_the_level_of_the_look():
    one = size(100, cold=0.7, warm=0.8)
    assert curves(one, look=2).level == LEVELS[1]
    assert ahead(curves(one, look=len(LEVELS) + 1)) == [None]


TUNING = "tuning is ahead of every cell with a frozen encoder"
FROZEN = "a frozen encoder is ahead of every cell that tunes"
OPEN = "it is not decided between tuning and freezing"


SENTENCES = [
    ((0, 0.1, 0.1), f"From 300 training examples on {TUNING}; with 100 {OPEN}."),
    ((0, 0, 0.1), f"With 1,000 training examples {TUNING}; with 100 and 300 {OPEN}."),
    ((0.1, 0.1, 0.1), f"With 100, 300 and 1,000 training examples {TUNING}."),
    ((0, 0, 0), f"With 100, 300 and 1,000 training examples {OPEN}."),
    ((-0.1, 0, 0.1), f"With 1,000 training examples {TUNING}; with 100 and 300 {OPEN}."),
    ((0.1, 0, 0), f"With 100, 300 and 1,000 training examples {OPEN}."),
    ((0.1, -0.1, 0.1), f"With 1,000 training examples {TUNING}; with 300 {FROZEN}; "
                       f"with 100 {TUNING}."),
]  # fmt: skip


def test_what_is_said():
    for gains, sentence in SENTENCES:
        sizes = [
            size(examples, cold=0.7, warm=0.7 + gain)
            for examples, gain in zip((100, 300, 1000), gains, strict=True)
        ]
        assert curves(*sizes).sentence == sentence
