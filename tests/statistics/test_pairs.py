"""All pairs of cells: Holm's correction against statsmodels, and what is said of each pair."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from tf_adapt.statistics.pairs import above_baseline, compare_pairs, holm
from tf_adapt.statistics.relation import PairTest, relation
from tf_adapt.statistics.scores import item_statistics
from tf_adapt.statistics.seeds_needed import seeds_needed
from tf_adapt.statistics.two_cells import compare_cells, sample_of


def right_or_wrong(shares, items=400, seed=0):
    """Statistics of accuracy `[seeds, items, 2]`: of run s the share `shares[s]` is right."""
    random = np.random.default_rng(seed)
    difficulty = random.random(items)
    noise = random.normal(0, 0.05, (len(shares), items))
    right = (difficulty + noise < np.reshape(shares, (-1, 1))).astype(np.float64)
    return np.stack([right, np.ones_like(right)], axis=-1)


def test_holm_is_that_of_statsmodels():
    # statsmodels 0.14, multipletests(…, method="holm").
    adjusted = holm([0.01, 0.04, 0.03, 0.005, 0.5, 0.03])
    assert adjusted == pytest.approx([0.05, 0.12, 0.12, 0.03, 0.5, 0.12])
    # 3 · 0.4 is more than 1, and no later one may be less: 2 · 0.45 becomes 1.
    assert holm([0.9, 0.45, 0.4]) == [1, 1, 1]
    assert (holm([0.03]), holm([])) == ([0.03], [])


def test_every_pair_once_and_in_order():
    cells = {
        name: right_or_wrong([share, share + 0.01, share - 0.01])
        for name, share in {"best": 0.8, "middle": 0.6, "close": 0.59}.items()
    }
    pairs = compare_pairs("accuracy", cells)
    assert [(pair.a, pair.b) for pair in pairs] == [
        ("best", "middle"),
        ("best", "close"),
        ("middle", "close"),
    ]
    for pair in pairs:
        single = compare_cells(
            *(sample_of("accuracy", cells[getattr(pair, side)]) for side in "ab")
        )
        assert (pair.difference, pair.p) == (single.difference, single.p)
        wide = compare_cells(
            *(sample_of("accuracy", cells[getattr(pair, side)]) for side in "ab"), 0.97
        )
        assert (tuple(pair.interval), pair.level) == (wide.interval, 0.97)
    assert [pair.p_holm for pair in pairs] == holm([pair.p for pair in pairs])
    assert [pair.decided for pair in pairs] == [True, True, False]
    assert [pair.why for pair in pairs] == ["decided", "decided", "more_seeds"]
    # One pair is left, so that nothing is corrected but for the level of the next analysis.
    last = [sample_of("accuracy", cells[name]) for name in ("middle", "close")]
    assert [pair.seeds_needed for pair in pairs] == [None, None, [*seeds_needed(*last, 0.005)]]


def far_apart():
    """Over the seeds: a and b 0.75 ± 0.07, c 0.62 ± 0.07, so that no pair is decided."""
    return {
        "a": right_or_wrong([0.68, 0.75, 0.82]),
        "b": right_or_wrong([0.69, 0.81, 0.76]),
        "c": right_or_wrong([0.55, 0.62, 0.69]),
    }


def test_seeds_are_asked_for_at_the_next_look_and_the_level_of_the_pairs_that_are_left():
    cells = far_apart()
    pairs = {pair.a + pair.b: pair for pair in compare_pairs("accuracy", cells)}
    assert not any(pair.decided for pair in pairs.values())
    both = [sample_of("accuracy", cells[name]) for name in "ac"]
    assert pairs["ac"].why == "more_seeds"
    assert pairs["ac"].seeds_needed == [*seeds_needed(*both, level=0.005 / 3)]
    assert pairs["ac"].seeds_needed[0] > seeds_needed(*both, level=0.05)[0] > 3


@pytest.mark.parametrize(
    ("analysis", "level"), [(0, 0.95), (1, 0.97), (2, 0.995), (5, 0.995), (6, 0.995)]
)
def test_each_look_has_its_level(analysis, level):
    # p is between 0.005 and 0.03.
    cells = {
        name: right_or_wrong([x - 0.02, x, x + 0.02]) for name, x in (("a", 0.715), ("b", 0.6))
    }
    [pair] = compare_pairs("accuracy", cells, analysis)
    assert 0.005 < pair.p < 0.03
    assert (pair.level, pair.decided) == (level, analysis < 2)
    whys = {0: "decided", 1: "decided", 2: "more_seeds"}
    assert pair.why == whys.get(analysis, "no_analysis_left")
    [pair] = compare_pairs("accuracy", cells, analysis, standing={("a", "b")})
    assert pair.decided
    [pair] = compare_pairs("accuracy", cells, analysis, standing={("b", "a")})
    assert pair.decided == (analysis < 2)


def test_after_the_last_look_nothing_is_decided_however_small_p_is():
    cells = {"a": right_or_wrong([0.9] * 3), "b": right_or_wrong([0.3] * 3)}
    [pair] = compare_pairs("accuracy", cells, analysis=6)
    assert pair.p_holm < 1e-9
    assert (pair.decided, pair.alike) == (False, False)


def test_alike_is_both_one_sided_tests():
    """A difference of 0.2 points with an error of 0.2."""
    random = np.random.default_rng(3)
    right = (random.random(20_000) < 0.9).astype(float)
    cells = {}
    for name, flips in {"a": 200, "b": 160}.items():
        rows = [right.copy() for _ in range(3)]
        for number, row in enumerate(rows):
            places = np.random.default_rng(number).choice(20_000, flips, replace=False)
            row[places] = 1.0
        cells[name] = np.stack([np.stack([row, np.ones_like(row)], axis=-1) for row in rows])
    [pair] = compare_pairs("accuracy", cells)
    low, high = pair.interval
    assert -0.01 < low < high < 0.01
    assert (pair.alike, pair.why) == (True, "decided" if pair.decided else "alike")
    assert relation(pair, "a") == relation(pair, "b") == "alike"
    middle, error = (low + high) / 2, (high - low) / 2
    # The interval of 97 % lies within the margin where both tests pass 1.5 %.
    assert abs(middle) + error < 0.01


def test_a_wide_interval_is_not_alike_and_ends_at_what_is_possible():
    cells = {
        "a": right_or_wrong([1.0, 0.35], items=60),
        "b": right_or_wrong([0.4, 0.95], items=60, seed=2),
    }
    [pair] = compare_pairs("accuracy", cells)
    assert pair.interval == [-1, 1]
    assert (pair.alike, pair.decided) == (False, False)


def test_relation():
    pair = a_pair("x", "y", 0.1, decided=True)
    assert (relation(pair, "x"), relation(pair, "y")) == ("ahead", "behind")
    assert relation(replace(pair, alike=True), "x") == "alike"
    assert relation(replace(pair, decided=False), "x") == "open"


def a_pair(a, b, difference, interval=None, decided=False):
    """A test of two cells; what is not given does not matter."""
    return PairTest(
        a=a, b=b, difference=difference, interval=interval, level=0.97, p=0.5, p_holm=0.5,
        decided=decided, alike=False, seeds_needed=None, why="more_seeds",
    )  # fmt: skip


def test_a_test_is_seen_from_either_cell():
    pair = a_pair("x", "y", 0.1, [-0.1, 0.3])
    assert pair.seen_from("x") == pair
    assert pair.seen_from("y") == a_pair("y", "x", -0.1, [-0.3, 0.1])
    assert a_pair("x", "y", 1.0).seen_from("y").interval is None


def test_cells_with_other_numbers_of_seeds():
    cells = {"a": right_or_wrong([0.9, 0.88, 0.89]), "b": right_or_wrong([0.4, 0.42, 0.41, 0.4])}
    [pair] = compare_pairs("accuracy", cells)
    assert pair.decided
    [pair] = compare_pairs("accuracy", cells | {"a": cells["a"][:2]})
    assert (pair.decided, pair.why, pair.p_holm) == (False, "few_seeds", None)


def test_above_the_baseline():
    """Constant answers have accuracy 0.5; 300 of 400 is above it, 205 of 400 is not shown to be."""
    gold = np.arange(400) < 200
    baseline = np.stack([gold, np.ones(400)], axis=-1).astype(float)
    random = np.random.default_rng(0)

    def cell(right, seeds):
        rows = [random.permutation(np.arange(400) < right) for _ in range(seeds)]
        return np.stack([np.stack([row, np.ones(400)], axis=-1) for row in rows]).astype(float)

    found = above_baseline(
        "accuracy", {"a": cell(300, 3), "b": cell(205, 3), "c": cell(300, 1)}, baseline
    )
    assert [one.above for one in found.values()] == [True, False, True]
    assert found["a"].difference == pytest.approx(0.25)
    worse = above_baseline("accuracy", {"a": cell(50, 3)}, baseline)["a"]
    assert (worse.p < 0.001, worse.above) == (True, False)
    few = {"a": cell(400, 3)[:, :19]}
    assert not above_baseline("accuracy", few, baseline[200:219])["a"].above


def test_a_difference_that_the_items_hide():
    # Each cell finds other items hard: of 400, the standard error is 0.03.
    shares = [0.7, 0.72, 0.74]
    cells = {name: right_or_wrong(shares, seed=seed) for name, seed in {"a": 1, "b": 2}.items()}
    [pair] = compare_pairs("accuracy", cells)
    assert 0 < abs(pair.difference) < 0.08
    assert (pair.why, pair.seeds_needed) == ("more_test_examples", None)


def test_more_seeds_than_a_hundred():
    # Seeds lead far apart, and the items alone would do: every one shows the same difference.
    shares = [0.1, 0.9, 0.5, 0.5]
    values = [np.repeat(np.reshape(side, (4, 1)), 50, axis=1) for side in (shares, shares[::-1])]
    values[0] += 0.01
    cells = {
        name: np.stack([side, np.ones_like(side)], axis=-1)
        for name, side in zip("ab", values, strict=True)
    }
    [pair] = compare_pairs("accuracy", cells)
    assert (pair.why, pair.seeds_needed[1], pair.decided) == ("more_seeds", None, False)


@pytest.mark.parametrize("seeds", [1, 2])
def test_v1_few_seeds_decide_nothing(seeds):
    cells = {"a": right_or_wrong([0.9] * seeds), "b": right_or_wrong([0.4] * seeds)}
    [pair] = compare_pairs("accuracy", cells)
    assert (pair.p < 1e-6, pair.p_holm) == (True, None)
    assert (pair.decided, pair.why, pair.seeds_needed) == (False, "few_seeds", None)


def test_identical_cells():
    cells = dict.fromkeys(["a", "b"], right_or_wrong([0.6, 0.7]))
    [pair] = compare_pairs("accuracy", cells)
    assert (pair.difference, pair.p, pair.p_holm) == (0, 1, None)
    assert (pair.decided, pair.alike, pair.why) == (False, False, "identical")


def test_one_item_and_one_cell():
    cells = {"a": np.ones((2, 1, 2)), "b": np.array([[[0.0, 1.0]]] * 2)}
    [pair] = compare_pairs("accuracy", cells)
    assert (pair.interval, pair.p, pair.why) == (None, 1, "few_items")
    few = {name: right_or_wrong([x, x + 0.05], items=19) for name, x in (("a", 0.9), ("b", 0.1))}
    assert [pair.why for pair in compare_pairs("accuracy", few)] == ["few_items"]
    assert compare_pairs("accuracy", {"a": cells["a"]}) == []


def test_plain_values_for_a_comparison_of_full_size():
    random = np.random.default_rng(1)
    gold = random.normal(size=1500)
    cells = {
        f"cell {cell}": np.stack(
            [
                item_statistics("pearson", gold + (1 + cell / 50) * random.normal(size=1500), gold)
                for _ in range(5)
            ]
        )
        for cell in range(12)
    }
    pairs = compare_pairs("pearson", cells)
    assert len(pairs) == 12 * 11 / 2
    values = [asdict(pair) for pair in pairs]
    kinds = {key: {type(pair[key]) for pair in values} for key in values[0]}
    assert kinds.pop("seeds_needed") <= {list, type(None)}
    assert kinds.pop("larger_design") == {type(None)}
    assert kinds == {
        "a": {str}, "b": {str}, "difference": {float}, "interval": {list}, "level": {float},
        "p": {float}, "p_holm": {float}, "decided": {bool}, "alike": {bool}, "why": {str},
        "error": {float},
    }  # fmt: skip
    assert {type(end) for pair in pairs for end in pair.interval} == {float}
    assert {pair.why for pair in pairs} == {"decided", "more_seeds"}
    json.dumps(values, allow_nan=False)


def test_a_simple_model_of_folds_is_tested_as_a_cell_of_folds():
    random = np.random.default_rng(2)
    folds = np.stack([random.permutation(100) % 5 for _ in range(2)])
    cell, model = (
        np.stack([random.random((2, 100)) < share, np.ones((2, 100))], -1).astype(float)
        for share in (0.8, 0.7)
    )
    found = above_baseline("accuracy", {"a": cell}, model, 1, {"a": folds}, folds)["a"]
    as_pair = compare_pairs("accuracy", {"a": cell, "b": model}, 1, (), {"a": folds, "b": folds})
    assert (found.difference, found.p) == (as_pair[0].difference, as_pair[0].p)
