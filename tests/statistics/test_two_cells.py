"""The test of two cells: against SciPy where it is a t test, by pencil, and by simulation."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2, norm, t, ttest_1samp, ttest_ind, ttest_rel

from tf_adapt.statistics.scores import item_statistics
from tf_adapt.statistics.seeds_needed import enough_items, seeds_needed
from tf_adapt.statistics.two_cells import CellSample, compare_cells, sample_of


def mean_cell(values):
    """A cell whose score is the mean of `[seeds, items]` values."""
    values = np.asarray(values, np.float64)
    return sample_of("accuracy", np.stack([values, np.ones_like(values)], axis=-1))


def pearson_cell(predictions, gold):
    return sample_of(
        "pearson", np.stack([item_statistics("pearson", p, gold) for p in predictions])
    )


def answers(random, seeds, items, seed_deviations=(0.02, 0.02), gain=0.0):
    """Right or wrong answers `[cell, seed, item]` of two cells that are right 4 times in 5.

    The logit is a sum of the item's difficulty, of which most is shared by the cells, and of the
    seed's effect; `seed_deviations` (of the expected accuracies) and `gain` (of cell a) are in
    shares of the items. Two seeds of a cell disagree on one item in ten.
    """
    slope = 0.0862  # of accuracy over the logit below, by numerical integration
    shared, own = random.normal(2.8, 2.5, items), random.normal(0, 1, (2, 1, items))
    seed_effects = random.normal(size=(2, seeds, 1)) * np.reshape(seed_deviations, (2, 1, 1))
    shifts = np.reshape([gain, 0.0], (2, 1, 1)) + seed_effects
    chances = expit((shared + own + shifts / slope) / 0.6)
    return (random.random((2, seeds, items)) < chances).astype(np.float64)


def rejections(comparisons, draw, level=0.05):
    """The share of simulated comparisons with p of at most `level`."""
    return np.mean([compare_cells(*draw()).p <= level for _ in range(comparisons)])


def assert_is_t_test(result, expected):
    assert result.p == pytest.approx(expected.pvalue, rel=1e-9)
    np.testing.assert_allclose(result.interval, expected.confidence_interval(0.95), rtol=1e-9)


def test_one_seed_is_the_paired_t_test_over_items():
    a, b = answers(np.random.default_rng(0), 1, 60, gain=0.2)
    result = compare_cells(mean_cell(a), mean_cell(b))
    assert result.difference == pytest.approx(a.mean() - b.mean())
    assert_is_t_test(result, ttest_rel(a[0], b[0]))


def test_seeds_that_agree_are_the_paired_t_test_over_items():
    a, b = answers(np.random.default_rng(1), 1, 60, gain=0.2)
    result = compare_cells(*(mean_cell(np.repeat(cell, 4, axis=0)) for cell in (a, b)))
    assert_is_t_test(result, ttest_rel(a[0], b[0]))


def assert_is_welchs_t_with(result, a, b, freedom):
    """SciPy's statistic of Welch's test, with the freedom of the cell with fewer seeds."""
    statistic = ttest_ind(a, b, equal_var=False).statistic
    assert result.p == pytest.approx(2 * t.sf(abs(statistic), freedom), rel=1e-9)
    half = (result.interval[1] - result.interval[0]) / 2
    assert half == pytest.approx(abs(result.difference / statistic) * t.ppf(0.975, freedom))


def test_items_that_agree_are_welchs_t_over_seeds():
    a, b = [0.9, 0.7, 0.8, 0.75], [0.6, 0.65, 0.62, 0.66]
    cells = (mean_cell(np.repeat(np.reshape(s, (-1, 1)), 5000, axis=1)) for s in (a, b))
    assert_is_welchs_t_with(compare_cells(*cells), a, b, 3)


def test_seeds_and_items_by_pencil():
    # Scores 1, ½ and 0, ½: variances ⅛ and ⅛, seeds (⅛ + ⅛) / 2. Differences of the items' means
    # 1, 0: variance ½, items ½ / 2. All residuals ±¼, in each cell Σ = ¼ of one degree of freedom:
    # residual (¼ + ¼) / 4. Variance ⅛ + ¼ − ⅛, so t = ½ / ½. The likely variance over seeds is
    # ⅛ by the 40 % quantile of the square of a normal variable, the 70 % quantile of that, squared.
    likely = 1 / 8 / norm.ppf(0.7) ** 2
    freedom = (likely + 1 / 4 - 1 / 8) ** 2 / (likely**2 + (1 / 4) ** 2)
    result = compare_cells(mean_cell([[1, 1], [1, 0]]), mean_cell([[0, 0], [0, 1]]), level=0.5)
    assert (result.difference, result.p) == (0.5, pytest.approx(2 * t.sf(1, freedom)))
    margin = 0.5 * t.ppf(0.75, freedom)
    assert result.interval == pytest.approx((0.5 - margin, 0.5 + margin))


def test_what_is_left_over_takes_no_more_than_there_is():
    # Seeds that are right on different items, as often; then items that differ by their seeds only.
    items, nothing = np.random.default_rng(3).normal(0.3, 1, 20), np.zeros(20)
    a = CellSample(np.full(3, items.mean()), items, 0.0, 9.0)
    b = CellSample(np.zeros(3), nothing, 0.0, 9.0)
    assert_is_t_test(compare_cells(a, b), ttest_rel(items, nothing))
    scores = np.array([0.9, 0.7, 0.8])
    a = CellSample(scores, nothing, scores.var(ddof=1), 9.0)
    assert_is_t_test(compare_cells(a, b), ttest_1samp(scores, 0))


def test_one_seed_is_close_to_every_flip_of_signs():
    differences = np.random.default_rng(4).normal(0.5, 1, 14)
    flips = np.array([*product([1, -1], repeat=14)]) @ differences
    exact = np.mean(np.abs(flips) >= np.abs(differences.sum()) - 1e-9)
    result = compare_cells(mean_cell([differences]), mean_cell([np.zeros(14)]))
    assert 0.01 < exact < 0.3
    assert result.p == pytest.approx(exact, abs=0.01)


def test_nothing_but_the_sign_depends_on_the_order():
    random = np.random.default_rng(5)
    gold = random.normal(size=50)
    a, b = (gold + random.normal(0, noise, (3, 50)) for noise in (0.5, 0.7))
    result = compare_cells(pearson_cell(a, gold), pearson_cell(b, gold))
    swapped = compare_cells(pearson_cell(b, gold), pearson_cell(a, gold))
    assert swapped.difference == -result.difference
    assert swapped.interval == pytest.approx((-result.interval[1], -result.interval[0]))
    order = random.permutation(50)
    mixed = (pearson_cell(side[::-1, order], gold[order]) for side in (a, b))
    for other in (swapped, compare_cells(*mixed)):
        assert other.p == pytest.approx(result.p, rel=1e-9)


def test_interval_holds_zero_where_the_test_does_not_reject():
    random = np.random.default_rng(6)
    rejected = 0
    for _ in range(200):
        cells = (mean_cell(side) for side in answers(random, 3, 80, gain=0.06))
        result = compare_cells(*cells, level=0.9)
        low, high = result.interval
        assert (low > 0 or high < 0) == (result.p < 0.1)
        rejected += result.p < 0.1
    assert 20 < rejected < 180


@pytest.mark.parametrize("seeds", [1, 3])
def test_identical_predictions(seeds):
    a, _ = answers(np.random.default_rng(7), seeds, 30)
    result = compare_cells(mean_cell(a), mean_cell(a))
    assert (result.difference, result.p) == (0, 1)
    assert result.interval[0] <= 0 <= result.interval[1]
    assert result.p_alike > 0.1 if seeds > 1 else result.interval == (0, 0)


@pytest.mark.parametrize("seeds", [1, 3])
def test_perfect_cells(seeds):
    gold = np.linspace(0, 1, 9)
    perfect = [gold * (seed + 1) for seed in range(seeds)]
    for cell in (mean_cell(np.ones((seeds, 9))), pearson_cell(perfect, gold)):
        result = compare_cells(cell, cell)
        assert (result.difference, result.interval, result.p) == (0, (0, 0), 1)
        assert result.p_alike == 2 / 2**9
    # Two of the 2⁹ ways to flip the signs of nine equal differences are as far from 0.
    result = compare_cells(mean_cell(np.ones((seeds, 9))), mean_cell(np.zeros((seeds, 9))))
    assert (result.difference, result.interval, result.p) == (1, (1, 1), 2 / 2**9)


def test_one_item_decides_nothing():
    result = compare_cells(mean_cell([[1], [1]]), mean_cell([[0], [0]]))
    assert (result.difference, result.interval, result.p) == (1, None, 1)
    assert not enough_items(mean_cell([[1], [1]]), mean_cell([[0], [0]]))


def test_two_items_without_scatter_are_enough():
    assert enough_items(mean_cell([[1, 1], [1, 1]]), mean_cell([[0, 0], [0, 0]]))


def test_a_seed_without_a_score_counts_as_zero():
    random = np.random.default_rng(8)
    gold = random.normal(size=40)
    a = gold + random.normal(0, 0.5, (3, 40))
    failed = np.concatenate([a[:2], np.ones((1, 40))])
    result = compare_cells(pearson_cell(a, gold), pearson_cell(failed, gold))
    assert result.difference == pytest.approx(np.corrcoef(a[2], gold)[0, 1] / 3)
    # What the other two seeds say of the third is little.
    assert result.p > 0.3


def test_cells_of_other_items_are_refused():
    a, b = mean_cell(np.eye(3)), mean_cell(np.eye(2))
    for function in (compare_cells, seeds_needed, enough_items):
        with pytest.raises(ValueError, match="the same test items in both, got 3 and 2"):
            function(a, b)
    with pytest.raises(ValueError, match="at least 2 seeds of each cell, got 1"):
        seeds_needed(mean_cell([[1, 0]]), mean_cell([[0, 0]]))


def test_other_numbers_of_seeds_are_welchs_t_where_items_agree():
    a, b = [0.9, 0.7, 0.8, 0.75], [0.6, 0.65]
    cells = (mean_cell(np.repeat(np.reshape(s, (-1, 1)), 5000, axis=1)) for s in (a, b))
    assert_is_welchs_t_with(compare_cells(*cells), a, b, 1)


def test_two_one_sided_tests_over_items():
    differences = np.random.default_rng(13).normal(0.002, 0.05, 400)
    result = compare_cells(mean_cell([differences]), mean_cell([np.zeros(400)]))
    sides = [
        ttest_1samp(differences, -0.01, alternative="greater").pvalue,
        ttest_1samp(differences, 0.01, alternative="less").pvalue,
    ]
    assert result.p_alike == pytest.approx(max(sides), rel=1e-9)


def known_cells(gain, seed=0.03, own=0.3, residual=0.4, seeds=3, items=200):
    """Two cells as they would look if every variance were estimated exactly."""
    spread = np.tile([-1.0, 1.0], items // 2) / np.sqrt(items / (items - 1))
    between = spread * np.sqrt(2 * own**2 + 2 * residual**2 / seeds)
    variance = seed**2 + residual**2 / items
    a = CellSample(np.full(seeds, gain), between, variance, residual**2)
    return a, replace(a, scores=np.zeros(seeds), items=np.zeros(items))


def first_with_power(difference, per_seed, items, power=0.8, level=0.05):
    """By pencil: the test items stay, so that chance is in the seeds alone."""
    for number in range(3, 400):
        seeds = per_seed / number
        likely = seeds * (number - 1) / chi2.ppf(0.4, number - 1)
        spread = likely**2 / (number - 1) + items**2 / 199
        limit = t.ppf(1 - level / 2, (likely + items) ** 2 / spread) * (seeds + items) ** 0.5
        if norm.sf((limit - difference) / seeds**0.5) >= power:
            return number
    return None


def test_seeds_needed_are_the_first_with_enough_power():
    # As in `known_cells`: two cells' share of one seed, and what stays with any number of seeds.
    per_seed, stays = 2 * (0.03**2 + 0.4**2 / 200), 2 * 0.3**2 / 200
    # The central half of a t distribution with 2 degrees of freedom around what is seen.
    half = t.ppf(0.75, 2) * (per_seed / 3) ** 0.5
    expected = tuple(first_with_power(0.12 + side, per_seed, stays) for side in (half, -half))
    assert 2 < expected[0] < expected[1] < 20
    assert seeds_needed(*known_cells(0.12)) == expected
    assert seeds_needed(*known_cells(-0.12)) == expected
    assert seeds_needed(*known_cells(0.12), most=expected[1]) == expected
    assert seeds_needed(*known_cells(0.12), most=expected[1] - 1) == (expected[0], None)
    # Scores of seeds that happen to agree differ by what is left over, at the least.
    alike = [replace(cell, seed_variance=0.0) for cell in known_cells(0.12)]
    assert seeds_needed(*alike) == seeds_needed(*known_cells(0.12, seed=0.0))


def test_no_scale_is_too_small():
    """Rounding is far below scores that differ in their seventh digit."""
    cells = known_cells(0.12)
    small = [
        CellSample(
            cell.scores * 1e-7,
            cell.items * 1e-7,
            cell.seed_variance * 1e-14,
            cell.residual * 1e-14,
        )
        for cell in cells
    ]
    assert seeds_needed(*small) == seeds_needed(*cells)
    assert compare_cells(*small).p == pytest.approx(compare_cells(*cells).p)
    # Without a residual there is nothing but the seeds, of which each number is enough.
    exact = [replace(cell, seed_variance=0.0, residual=0.0) for cell in cells]
    assert seeds_needed(*exact) == (3, 3)


def test_what_is_left_over_is_the_mean_square_of_a_two_way_table():
    # Row means 1/3, column means 0, 1/2, 1/2: four times 1/2 is left, over (2 − 1)(3 − 1).
    cell = mean_cell([[0, 1, 0], [0, 0, 1]])
    assert cell.residual == pytest.approx(0.5)


def test_power_at_the_seeds_needed_is_as_said():
    """Of a difference that is known, on items that are the same each time."""
    per_seed, stays = 2 * (0.03**2 + 0.4**2 / 200), 2 * 0.3**2 / 200
    number = first_with_power(0.09, per_seed, stays)
    assert 3 < number < 20
    random = np.random.default_rng(9)
    spread = np.tile([-0.3, 0.3], 100)
    items = np.stack([random.permutation(spread), random.permutation(spread)])
    items -= items.mean(1, keepdims=True)

    def draw(seeds):
        values = random.normal(0, 0.4, (2, seeds, 200)) + random.normal(0, 0.03, (2, seeds, 1))
        values += items[:, None]
        return mean_cell(values[0] + 0.09), mean_cell(values[1])

    # 600 comparisons: the standard error of 0.8 is 0.016.
    power = rejections(600, lambda: draw(number))
    assert 0.74 < power < 0.92
    assert rejections(600, lambda: draw(number - 2)) < power - 0.03


def test_too_few_items_for_any_number_of_seeds():
    # The items alone leave a standard error of 0.03: with infinitely many seeds a difference on
    # these items is decided from 0.03 · 1.97 on, and there is nothing else that chance could do.
    quiet = {"seed": 0.001, "residual": 0.001}
    assert not enough_items(*known_cells(0.058, **quiet))
    assert seeds_needed(*known_cells(0.058, **quiet)) == (None, None)
    assert enough_items(*known_cells(0.061, **quiet))
    assert seeds_needed(*known_cells(0.061, **quiet))[0] is not None
    # What the seeds leave plausible counts: a larger difference than the one seen.
    assert enough_items(*known_cells(0.058))


def test_false_positives_are_rare_and_testing_items_alone_is_not_enough():
    random = np.random.default_rng(10)
    drawn = [answers(random, 3, 200, (0.03, 0.03)) for _ in range(300)]
    found = [compare_cells(mean_cell(a), mean_cell(b)).p <= 0.05 for a, b in drawn]
    items_alone = [ttest_rel(a.mean(0), b.mean(0)).pvalue <= 0.05 for a, b in drawn]
    # Three standard errors of 300 draws of 0.05 are 0.038.
    assert np.mean(found) < 0.088
    assert np.mean(items_alone) > 0.15


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 5])
@pytest.mark.parametrize("deviations", [(0, 0), (0.01, 0.01), (0.01, 0.02), (0.02, 0)])
@pytest.mark.parametrize("items", [100, 500])
def test_false_positive_rate_of_accuracy(seeds, deviations, items):
    random = np.random.default_rng(11)

    def draw():
        return [mean_cell(side) for side in answers(random, seeds, items, deviations)]

    # Three standard errors of 1,000 draws of 0.05 are 0.021.
    assert rejections(1000, draw) < 0.071


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 5])
@pytest.mark.parametrize("items", [100, 500])
def test_false_positive_rate_of_a_correlation(seeds, items):
    random = np.random.default_rng(12)

    def draw():
        gold = random.uniform(1, 5, items)
        hard = random.gamma(2, 0.5, items) ** 0.5
        shared, own = random.normal(0, 0.55, items), random.normal(0, 0.45, (2, 1, items))
        noise = shared + own + hard * random.normal(0, 0.5, (2, seeds, items))
        # The correlation is about 0.79 − 0.29·(scale − 1): a deviation of 1 point over seeds.
        scales = random.normal(1, 0.035, (2, seeds, 1))
        return [pearson_cell(side, gold) for side in gold + 1.02 * scales * noise]

    assert rejections(1000, draw) < 0.071


def test_against_a_constant_it_is_the_t_test_of_one_sample():
    """One prediction for all seeds has no variance over them, and takes no degrees of freedom."""
    scores = np.array([0.71, 0.74, 0.70, 0.76])
    cell, constant = mean_cell(np.tile(scores[:, None], 50)), mean_cell(np.full((1, 50), 0.69))
    assert compare_cells(cell, constant).p == pytest.approx(ttest_1samp(scores, 0.69).pvalue)
