"""Cells in other domains: the test there, and of the difference of differences."""

import numpy as np
import pytest
from scipy.stats import norm

from tf_adapt.statistics.pairs import compare_pairs, holm
from tf_adapt.statistics.shift import compare_abroad, compare_gaps


def answers(random, cells: dict[str, float], items: int, seeds: int = 4) -> dict[str, np.ndarray]:
    """Accuracy's statistics of cells with these shares of right answers."""
    hard = random.random(items)
    return {
        name: np.stack(
            [
                np.stack([hard + 0.2 * random.random(items) < share, np.ones(items)], axis=1)
                for _ in range(seeds)
            ]
        ).astype(float)
        for name, share in cells.items()
    }


def mean(rows: np.ndarray) -> float:
    return rows[..., 0].mean()


def test_one_domain_is_tested_as_home_is():
    rows = answers(np.random.default_rng(0), {"a": 0.7, "b": 0.8, "c": 0.9}, 300)
    assert compare_abroad("accuracy", {"x": rows}, 1) == {"x": compare_pairs("accuracy", rows)}
    both = compare_abroad("accuracy", {"x": rows, "y": rows}, 1)
    p_values = [pair.p for pairs in both.values() for pair in pairs]
    assert [p.p_holm for pairs in both.values() for p in pairs] == pytest.approx(holm(p_values))


def test_the_difference_of_differences_and_its_error_are_those_of_their_parts():
    """With one seed: the paired differences of two independent sets of items."""
    random = np.random.default_rng(1)
    home = answers(random, {"a": 0.9, "b": 0.7}, 400, 1)
    there = answers(random, {"a": 0.6, "b": 0.75}, 700, 1)
    (gap,) = compare_gaps("accuracy", home, {"x": there}, 1)["x"]
    differences = [side["a"][0, :, 0] - side["b"][0, :, 0] for side in (there, home)]
    assert gap.difference == pytest.approx(differences[0].mean() - differences[1].mean())
    error = np.sqrt(sum(one.var() / len(one) for one in differences))
    assert gap.error == pytest.approx(error, rel=0.002)
    assert gap.why == "few_seeds"


def test_seeds_whose_losses_agree_add_nothing():
    """Seeds that differ by ten points at home and abroad alike say the same of the move."""
    random = np.random.default_rng(2)
    shifts = np.array([-0.1, 0.0, 0.1, 0.0])

    def shifted(shares, items):
        hard = random.permutation(np.linspace(0, 1, items))
        return {
            name: np.stack(
                [np.stack([hard < share + shift, np.ones(items)], 1) for shift in shifts]
            ).astype(float)
            for name, share in shares.items()
        }

    home, there = shifted({"a": 0.8, "b": 0.6}, 1000), shifted({"a": 0.5, "b": 0.55}, 1000)
    (gap,) = compare_gaps("accuracy", home, {"x": there}, 1)["x"]
    assert gap.decided and gap.difference == pytest.approx(-0.25, abs=0.01)
    (at_home,) = compare_pairs("accuracy", home)
    assert gap.error < at_home.error / 2


def test_equal_answers():
    random = np.random.default_rng(3)
    home = answers(random, {"a": 0.8}, 100)
    home["b"] = home["a"]
    there = answers(random, {"a": 0.8, "b": 0.5}, 100)
    (gap,) = compare_gaps("accuracy", home, {"x": there}, 1)["x"]
    assert gap.decided and gap.difference == pytest.approx(mean(there["a"]) - mean(there["b"]))
    there["b"] = there["a"]
    (gap,) = compare_gaps("accuracy", home, {"x": there}, 1)["x"]
    assert (gap.why, gap.p, gap.difference) == ("identical", 1.0, 0.0)


def test_trainings_of_folds_share_examples():
    """More of the variance of a training remains than without folds."""
    random = np.random.default_rng(4)
    shifts = random.normal(0, 0.1, 10)
    rows = {
        name: np.concatenate([answers(random, {"": share + one}, 400, 1)[""] for one in shifts])
        for name, share in {"a": 0.6, "b": 0.7}.items()
    }
    (alone,) = compare_abroad("accuracy", {"x": rows}, 1)["x"]
    (of_folds,) = compare_abroad("accuracy", {"x": rows}, 1, folds=5)["x"]
    assert of_folds.difference == alone.difference
    assert of_folds.error > 1.4 * alone.error
    home = {name: of_cell[:2] for name, of_cell in rows.items()}
    folds = {name: np.stack([np.arange(400) % 5] * 2) for name in rows}
    (gap,) = compare_gaps("accuracy", home, {"x": rows}, 1, 5, folds)["x"]
    expected = [mean(rows[name]) - mean(home[name]) for name in rows]
    assert gap.difference == pytest.approx(expected[0] - expected[1])
    assert norm.sf(abs(gap.difference) / gap.error) > 0
