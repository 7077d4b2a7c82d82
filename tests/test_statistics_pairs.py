"""All pairs of cells: Holm's correction against statsmodels, and what is said of each pair."""

import numpy as np
import pytest

from tf_adapt.statistics.pairs import compare_pairs, holm
from tf_adapt.statistics.scores import item_statistics
from tf_adapt.statistics.two_cells import cell_of, compare_cells, seeds_needed


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
    assert [(pair["a"], pair["b"]) for pair in pairs] == [
        ("best", "middle"),
        ("best", "close"),
        ("middle", "close"),
    ]
    for pair in pairs:
        single = compare_cells(*(cell_of("accuracy", cells[pair[side]]) for side in "ab"))
        assert (pair["difference"], pair["p"]) == (single.difference, single.p)
        assert (tuple(pair["interval"]), pair["level"]) == (single.interval, 0.95)
    assert [pair["p_holm"] for pair in pairs] == holm([pair["p"] for pair in pairs])
    assert [pair["decided"] for pair in pairs] == [True, True, False]
    assert [pair["why"] for pair in pairs] == ["decided", "decided", "more_seeds"]
    # One pair is left, so that nothing is corrected.
    last = [cell_of("accuracy", cells[name]) for name in ("middle", "close")]
    needed = seeds_needed(*last, level=0.05)
    assert [pair["seeds_needed"] for pair in pairs] == [None, None, needed]
    assert needed < seeds_needed(*last, level=0.05 / 3)


def test_seeds_are_asked_for_at_the_level_of_the_pairs_that_are_left():
    # Far apart over the seeds: a and b 0.75 ± 0.07, c 0.62 ± 0.07, so that no pair is decided.
    cells = {
        "a": right_or_wrong([0.68, 0.75, 0.82]),
        "b": right_or_wrong([0.69, 0.81, 0.76]),
        "c": right_or_wrong([0.55, 0.62, 0.69]),
    }
    pairs = {pair["a"] + pair["b"]: pair for pair in compare_pairs("accuracy", cells)}
    assert not any(pair["decided"] for pair in pairs.values())
    both = [cell_of("accuracy", cells[name]) for name in "ac"]
    assert pairs["ac"]["why"] == "more_seeds"
    assert pairs["ac"]["seeds_needed"] == seeds_needed(*both, level=0.05 / 3)
    assert pairs["ac"]["seeds_needed"] > seeds_needed(*both, level=0.05) > 3


def test_a_difference_that_the_items_hide():
    # Each cell finds other items hard: of 400, the standard error is 0.03.
    shares = [0.7, 0.72, 0.74]
    cells = {name: right_or_wrong(shares, seed=seed) for name, seed in {"a": 1, "b": 2}.items()}
    [pair] = compare_pairs("accuracy", cells)
    assert 0 < abs(pair["difference"]) < 0.08
    assert (pair["why"], pair["seeds_needed"]) == ("more_test_examples", None)


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
    assert (pair["why"], pair["seeds_needed"], pair["decided"]) == ("more_seeds", None, False)


def test_one_seed_decides_nothing():
    cells = {"a": right_or_wrong([0.9]), "b": right_or_wrong([0.4])}
    [pair] = compare_pairs("accuracy", cells)
    assert pair["p_holm"] < 1e-6
    assert (pair["decided"], pair["why"], pair["seeds_needed"]) == (False, "one_seed", None)


def test_identical_cells():
    cells = dict.fromkeys(["a", "b"], right_or_wrong([0.6, 0.7]))
    [pair] = compare_pairs("accuracy", cells)
    assert (pair["difference"], pair["p"], pair["p_holm"]) == (0, 1, 1)
    assert (pair["decided"], pair["why"]) == (False, "more_test_examples")


def test_one_item_and_one_cell():
    cells = {"a": np.ones((2, 1, 2)), "b": np.array([[[0.0, 1.0]]] * 2)}
    [pair] = compare_pairs("accuracy", cells)
    assert (pair["interval"], pair["p"], pair["why"]) == (None, 1, "more_test_examples")
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
    kinds = {key: {type(pair[key]) for pair in pairs} for key in pairs[0]}
    assert kinds.pop("seeds_needed") <= {int, type(None)}
    assert kinds == {
        "a": {str}, "b": {str}, "difference": {float}, "interval": {list}, "level": {float},
        "p": {float}, "p_holm": {float}, "decided": {bool}, "why": {str},
    }  # fmt: skip
    assert {type(end) for pair in pairs for end in pair["interval"]} == {float}
    assert {pair["why"] for pair in pairs} == {"decided", "more_seeds", "more_test_examples"}
