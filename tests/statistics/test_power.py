"""The power of a design, against simulated comparisons."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tf_adapt.comparison.plan.design_power import power_lines
from tf_adapt.statistics.power import (
    TYPICAL,
    Design,
    Scatter,
    cheapest_design,
    items_needed,
    larger_design,
    power,
    scatter_of,
    seeds_on,
)
from tf_adapt.statistics.two_cells import compare_cells, sample_of, sample_of_values

ERRORS = Path(__file__).parents[2] / "docs" / "verdict_errors.json"


def test_it_is_that_of_simulated_comparisons():
    rows = json.loads(ERRORS.read_text("utf-8"))["power"]["rows"]
    assert len(rows) == 24
    for row in rows:
        given, decided = row["settings"], row["columns"]["first look after"]
        expected = power(given["difference"] / 100, seeds_on(given["seeds"], given["items"]))
        # Scores above 80 scatter a little less than those the scatter is of: more is decided.
        lacking, by_chance = decided["value"] - 100 * expected, 2 * decided["error"]
        assert -by_chance < lacking < by_chance + 2


def answers(random, expected, seeds, deviation, noise):
    """Right or wrong, `[seeds, items, 2]`, of a cell with this expectation for each item."""
    shift = deviation * random.standard_normal((seeds, 1))
    right = random.random((seeds, len(expected))) < np.clip(expected + shift, noise, 1 - noise)
    return np.stack([right, np.ones_like(right)], -1).astype(float)


def drawn(random, items, seeds=5, gain=0.04):
    easy = random.random(items) < 0.8
    samples = []
    for cell in (0, 1):
        unlike = random.random(items) < 0.06
        expected = np.where(easy ^ unlike, 0.93, 0.07) + gain * cell
        samples.append(sample_of("accuracy", answers(random, expected, seeds, 0.01, 0.02)))
    return samples


def test_the_items_that_a_pair_needs_decide_it():
    """From a large pilot the components are known; with the number told, four of five decide."""
    random = np.random.default_rng(5)
    a, b = drawn(random, 20_000, seeds=40)
    gain = b.scores.mean() - a.scores.mean()
    needed = items_needed(gain, 5, scatter_of(a, b))
    assert needed < 5000
    p = [compare_cells(*drawn(random, needed)).p for _ in range(400)]
    assert np.mean(np.array(p) <= 0.03) == pytest.approx(0.8, abs=0.07)


def of_folds(random, expected, deviation, residual, repeats, folds):
    """A cell of repeats of folds, with what all its trainings have in common."""
    shape = (repeats, len(expected))
    fold_of = np.stack([random.permutation(len(expected)) % folds for _ in range(repeats)])
    trainings = deviation * random.standard_normal((repeats, folds))
    values = expected + np.take_along_axis(trainings, fold_of, 1)
    values += deviation / np.sqrt(folds - 1) * random.standard_normal()
    values += np.sqrt(residual) * random.standard_normal(shape)
    return sample_of_values(values.mean(1), values, fold_of)


@pytest.mark.parametrize(
    "points, repeats, items, deviation", [(5, 2, 400, 0.01), (5, 2, 1000, 0.01), (6, 4, 500, 0.03)]
)
def test_with_folds_it_is_that_of_simulated_ones(points, repeats, items, deviation):
    random, folds, residual = np.random.default_rng(3), 5, TYPICAL.residual[0]

    def is_decided():
        parts = np.sqrt(TYPICAL.items / 2) * random.standard_normal((2, items))
        a, b = (of_folds(random, part, deviation, residual, repeats, folds) for part in parts)
        test = compare_cells(replace(a, scores=a.scores + points / 100), b)
        return test.p <= 0.03 and test.difference > 0

    simulated = np.mean([is_decided() for _ in range(800)])
    design = Design(repeats * folds, repeats, items)
    scatter = replace(TYPICAL, seeds=(deviation**2, deviation**2))
    assert power(points / 100, design, scatter) == pytest.approx(simulated, abs=0.05)


def test_one_repeat_of_folds_decides_nothing():
    assert power(0.5, Design(5, 1, 1000)) == 0 < power(0.5, Design(6, 2, 1000))


def test_a_larger_design_with_folds_has_folds():
    random = np.random.default_rng(8)
    a, b = (of_folds(random, np.zeros(800), 0.01, 1 / 18, 2, 5) for _ in range(2))
    repeats, items = larger_design(a, b, 0.02)
    scatter = scatter_of(a, b)
    assert repeats == 2 and scatter.seeds[0] == pytest.approx(4 * a.shared)
    assert power(0.02, Design(10, 2, items), scatter) >= 0.8
    assert power(0.02, Design(10, 2, int(0.9 * items)), scatter) < 0.8


def test_four_repeats_of_folds_where_two_do_not_suffice_with_any_number_of_items():
    random = np.random.default_rng(8)
    a, b = (of_folds(random, np.zeros(800), 0.02, 1 / 18, 2, 5) for _ in range(2))
    scatter = scatter_of(a, b)
    assert (
        items_needed(0.04, 2, scatter, folds=5) is items_needed(0.04, 4, scatter, folds=5) is None
    )
    assert larger_design(a, b, 0.04) is None
    gain = next(points / 1000 for points in range(40, 100) if larger_design(a, b, points / 1000))
    assert larger_design(a, b, gain) == [4, items_needed(gain, 4, scatter, folds=5)]


def test_it_grows_with_each_part_of_a_design():
    assert power(0.05, seeds_on(2, 500)) == power(0.05, seeds_on(5, 19)) == 0
    chances = [
        power(*case)
        for case in [
            (0.0, seeds_on(5, 500)), (0.02, seeds_on(5, 500)), (0.05, seeds_on(5, 500)),
            (0.05, seeds_on(10, 500)), (0.05, seeds_on(10, 5000)),
        ]
    ]  # fmt: skip
    assert chances == sorted(chances)
    assert chances[0] < 0.015  # in the right direction
    assert items_needed(0.001, 3, Scatter()) is None
    assert cheapest_design(0.05, [seeds_on(10, 500), seeds_on(5, 500), seeds_on(3, 500)]) == (
        seeds_on(5, 500)
    )
    assert cheapest_design(0.01, [seeds_on(3, 100)]) is None


def test_in_words():
    decides, needed = power_lines(seeds_on(5, 500), 2)
    assert "1, 2, 5 and 10 points in 6, 19, 89 and 100 of 100 comparisons" in decides
    assert needed == "5 points in four of five comparisons: this design does"
    decides, needed = power_lines(seeds_on(5, 500), 6)
    assert "the hardest pair of 6 cells" in decides
    assert needed.endswith("10 seeds on these 500 scored examples would")
    assert "label more" in power_lines(seeds_on(5, 20), 2)[1]
