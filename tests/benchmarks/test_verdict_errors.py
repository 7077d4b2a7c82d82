"""The simulation of verdicts: its draws against their truth, its tables, and what it must show.

V1, V2 and V3 are rows of the promises about the verdict: equal cells, seeds that fail, and items
that belong together are decided in at most 6 % of the comparisons.
"""

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import ttest_ind, ttest_rel
from sklearn.metrics import matthews_corrcoef

from benchmarks.verdict_errors.__main__ import CASES, DOCS, main, module_of, recorded
from benchmarks.verdict_errors.cases import groups, seeds_needed
from benchmarks.verdict_errors.columns import GOAL, Mean, Quantiles, Share
from benchmarks.verdict_errors.draws import TYPICAL, Items, TestSet, alone, scores_of_runs
from benchmarks.verdict_errors.page import BEGIN, END, summary, with_summary
from benchmarks.verdict_errors.rules import (
    decided_after,
    decided_before,
    grouped,
    old_test,
    pairs_before,
    scores,
)
from benchmarks.verdict_errors.simulating import simulated_row
from tf_adapt.statistics.scores import pseudo_values
from tf_adapt.statistics.two_cells import compare_cells


def errors_of(name: str, row: dict, comparisons: int) -> dict[str, dict]:
    """The columns of one row."""
    return simulated_row(name, module_of(name), row, comparisons, lambda: None)["columns"]


def after(name: str, row: dict, comparisons: int) -> dict[str, float]:
    return errors_of(name, row, comparisons)["after"]


def row_of(name: str, **settings) -> dict:
    """The one row of a case with these settings."""
    rows = module_of(name).ROWS
    [found] = [row for row in rows if all(row[key] == value for key, value in settings.items())]
    return found


@pytest.mark.parametrize("metric", TYPICAL)
def test_runs_score_what_they_are_expected_to(metric):
    expected = np.array([[0.4, 0.9], [TYPICAL[metric], 0.6]])
    for within in (0.0, 0.8):
        items = Items(np.repeat(np.arange(20000), 3), within=within)
        test = TestSet(np.random.default_rng(0), metric, items, 2)
        # 60,000 items that are worth some 25,000: three standard errors are at most 0.012.
        np.testing.assert_allclose(scores(metric, test.runs(expected)), expected, atol=0.012)


def test_answers_without_knowledge_score_nothing():
    random = np.random.default_rng(1)
    for metric in ("matthews", "pearson"):
        runs = TestSet(random, metric, alone(50000), 1).runs(np.zeros((1, 2)))
        np.testing.assert_allclose(scores(metric, runs), 0, atol=0.015)


def test_statistics_are_those_of_labels_and_numbers():
    random = np.random.default_rng(2)
    labels = TestSet(random, "matthews", alone(400), 1).runs(np.array([[0.5]]))[0, 0]
    true, predicted = labels[:, 1:3].argmax(1), labels[:, 3:5].argmax(1)
    assert (labels[:, 0] == (true == predicted)).all()
    expected = matthews_corrcoef(true, predicted)
    assert scores("matthews", labels) == pytest.approx(expected)
    numbers = TestSet(random, "pearson", alone(400), 1).runs(np.array([[0.7]]))[0, 0]
    expected = np.corrcoef(numbers[:, 1], numbers[:, 2])[0, 1]
    assert scores("pearson", numbers) == pytest.approx(expected)


def test_the_baseline_is_on_the_same_items():
    random = np.random.default_rng(3)
    for metric in ("matthews", "pearson", "span_f1"):
        test = TestSet(random, metric, alone(300), 1)
        constant, run = test.constant(), test.runs(np.array([[TYPICAL[metric]]]))[0, 0]
        assert scores(metric, constant) == 0
        gold = {"matthews": [1, 2], "pearson": [1, 3], "span_f1": [1]}[metric]
        np.testing.assert_array_equal(constant[:, gold], run[:, gold])
    test = TestSet(random, "accuracy", alone(50000, majority=0.7), 1)
    assert scores("accuracy", test.constant()) == pytest.approx(0.7, abs=0.01)


def test_intraclass_correlations_are_as_said():
    for metric in groups.WITHIN:
        for icc, within in groups.WITHIN[metric].items():
            items = Items(np.repeat(np.arange(20000), 3), within=within)
            test = TestSet(np.random.default_rng(4), metric, items, 2)
            runs = test.runs(np.full((2, 3), TYPICAL[metric]))
            a, b = pseudo_values(metric, runs).mean(1)
            difference = (a - b - (a - b).mean()).reshape(-1, 3)
            # One-way analysis of variance: mean squares between groups and within.
            between, inside = 3 * difference.mean(1).var(ddof=1), difference.var(1, ddof=1).mean()
            assert (between - inside) / (between + 2 * inside) == pytest.approx(icc, abs=0.03)


def test_groups_are_added_up():
    statistics = np.arange(24.0).reshape(2, 1, 6, 2)
    found = grouped(statistics, np.array([0, 0, 1, 2, 2, 2]))
    assert found.shape == (2, 1, 3, 2)
    assert found[1, 0].tolist() == [[26, 28], [16, 17], [60, 63]]


def test_sizes_of_groups():
    random = np.random.default_rng(5)
    found = {sizes: np.bincount(groups.group_ids(random, sizes, 40)) for sizes in groups.SIZES}
    assert {sizes: len(counts) for sizes, counts in found.items()} == dict.fromkeys(found, 40)
    assert (found["threes"] == 3).all()
    assert found["documents"].min() >= 5 and found["documents"].max() <= 30
    largest, *others = found["one third in one"]
    assert abs(largest - sum(others) / 2) <= 1


def answers(shares: tuple, random) -> np.ndarray:
    """Statistics of accuracy of runs that are right on these shares of 300 items."""
    right = random.random((len(shares), 300)) < np.reshape(shares, (-1, 1))
    return np.stack([right, np.ones_like(right)], -1) * 1.0


def test_before_seeds_without_items_are_welchs_t_test():
    a, b = [0.9, 0.7, 0.8], [0.6, 0.65, 0.62]
    statistics = {}
    for name, side in (("a", a), ("b", b)):
        values = np.repeat(np.reshape(side, (3, 1)), 5000, axis=1)
        statistics[name] = np.stack([values, np.ones_like(values)], -1)
    [pair] = pairs_before("accuracy", statistics)
    expected = ttest_ind(a, b, equal_var=False)
    assert pair.p_holm == pytest.approx(expected.pvalue, rel=1e-9)
    np.testing.assert_allclose(pair.test.interval, expected.confidence_interval(0.95), rtol=1e-9)
    assert pair.decided == (expected.pvalue <= 0.05)


def test_before_items_without_seeds_are_the_paired_t_test():
    random = np.random.default_rng(8)
    cells = [np.repeat(answers((share,), random), 2, axis=0) for share in (0.8, 0.7)]
    [pair] = pairs_before("accuracy", {"a": cells[0], "b": cells[1]})
    expected = ttest_rel(cells[0][0, :, 0], cells[1][0, :, 0])
    assert pair.p_holm == pytest.approx(expected.pvalue, rel=1e-9)


def test_looks_decide_with_levels_of_their_own():
    random = np.random.default_rng(9)
    shares, found = {"a": (0.82, 0.82, 0.82), "b": (0.75, 0.75, 0.75)}, {"before": 0, "after": 0}
    for _ in range(40):
        statistics = {name: answers(side, random) for name, side in shares.items()}
        p = pairs_before("accuracy", statistics)[0].p_holm
        found["before"] += bool(decided_before("accuracy", [statistics]))
        assert bool(decided_before("accuracy", [statistics])) == (p <= 0.05)
        # The same again and again decides nothing more: later levels are below the first.
        once = decided_after("accuracy", [statistics])
        assert bool(once) == bool(decided_after("accuracy", [statistics] * 5))
        found["after"] += bool(once)
    assert 0 < found["after"] < found["before"] < 40


@pytest.mark.slow
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.large), "after"])
def test_the_deciding_difference_is_decided_as_often_as_said(when):
    found = seeds_needed.deciding(6, 3, when)
    random, level = np.random.default_rng(10), seeds_needed.LEVELS[when]
    decided = []
    for _ in range(500):
        a, b = seeds_needed.cells(random, found, 3, 6)
        p = (old_test if when == "before" else compare_cells)(a, b).p
        decided.append(p <= level)
    # Three standard errors of 500 draws of 0.8 are 0.054.
    assert np.mean(decided) == pytest.approx(0.8, abs=0.054)
    assert seeds_needed.deciding(12, 3, when) < found


def test_columns_by_pencil():
    share = Share(20.0)
    # √(¼ · ¾ / 4)
    found = share.summary([True, False, False, False])
    assert (found["value"], found["error"]) == (25.0, pytest.approx(21.65, abs=0.01))
    assert share.text(found) == "**25.0 ± 21.7**"
    assert Share(25.0).text(found) == Share().text(found) == "25.0 ± 21.7"
    assert Mean().text(Mean().summary([1.0, 2.0, 3.0])) == "2.00 ± 0.58"
    numbers = [*range(1, 10), np.inf]
    assert Quantiles().text(Quantiles().summary(numbers)) == "5 (1 to 9)"
    assert Quantiles().text(Quantiles().summary([3, np.inf, np.inf])) == "> 100 (3 to > 100)"


def test_seeds_effects_have_their_deviations():
    found = scores_of_runs(np.random.default_rng(6), "accuracy", 20000, (1, 3), [2, 0])
    np.testing.assert_allclose(found.mean(1), [0.82, 0.80], atol=0.001)
    np.testing.assert_allclose(found.std(1), [0.01, 0.03], rtol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_row_of_every_case_can_be_simulated(name):
    case, found = module_of(name), set()
    for row in (case.ROWS[0], case.ROWS[-1]):
        found |= set(case.simulated(np.random.default_rng(7), **row))
    assert found == set(case.COLUMNS)


@pytest.mark.slow
def test_v1_v2_v3_the_page_is_written_and_rates_stay_low(tmp_path, monkeypatch):
    chosen = {
        "single": row_of("single", metric="accuracy", deviations=(1, 3), items=500, seeds=3),
        "failing": row_of(
            "failing", deviations=(1, 1), equal="trained", failing=0.2, gap=10, seeds=3
        ),
        "groups": row_of("groups", metric="accuracy", ICC=0.9, sizes="documents", groups=30),
    }
    for name, row in chosen.items():
        monkeypatch.setattr(module_of(name), "ROWS", [row])
    page = tmp_path / "verdict.md"
    page.write_text(f"Before.\n{BEGIN}\nold\n{END}\nAfter.\n", "utf-8")
    arguments = ["--comparisons", "200", "--out", str(tmp_path)]
    # One after the other: what was simulated before stays.
    assert CliRunner().invoke(main, ["groups", *arguments]).exit_code == 0
    done = CliRunner().invoke(main, ["single", "failing", *arguments])
    assert done.exit_code == 0, done.output
    lines = page.read_text("utf-8").splitlines()
    assert (lines[0], lines[-1]) == ("Before.", "After.")
    assert [line.split(" | ")[:3] for line in lines if line.startswith("| `")] == [
        ["| `single`", "Equal cells, one look", "1"],
        ["| `failing`", "A cell whose seeds fail now and then", "1"],
        ["| `groups`", "Equal cells, and items that belong together", "1"],
    ]
    text = CliRunner().invoke(main, ["--show", "--out", str(tmp_path)]).output
    results = recorded(tmp_path)
    for name in chosen:
        [row] = results[name]["rows"]
        assert row["comparisons"] == 200
        rate = row["columns"]["after"]
        # Three standard errors of 6 % in 200 comparisons are 5 %.
        assert rate["value"] <= GOAL + 5.0
        assert f"{rate['value']:.1f} ± {rate['error']:.1f}" in text
    assert results["groups"]["rows"][0]["columns"]["before"]["value"] > 6


def test_a_comparison_depends_on_its_row_and_number_alone():
    row = row_of("single", metric="accuracy", deviations=(1, 2), items=100, seeds=3)
    case, seen = module_of("single"), []

    class Recording:
        COLUMNS = {"value": Mean()}

        @staticmethod
        def simulated(random, **settings):
            seen.append(random.random())
            return {"value": seen[-1]}

    for count in (3, 5):
        simulated_row("single", Recording, row, count, lambda: None)
    assert seen[:3] == seen[3:6]
    assert len(set(seen)) == 5
    assert errors_of("single", row, 30) == errors_of("single", dict(reversed(row.items())), 30)
    assert case.ROWS.count(row) == 1


def test_what_is_above_the_goal_is_said(tmp_path, monkeypatch):
    row = row_of("groups", metric="accuracy", ICC=0.3, sizes="documents", groups=20)
    monkeypatch.setattr(module_of("groups"), "ROWS", [row])
    done = CliRunner().invoke(
        main, ["groups", "--comparisons", "60", "--out", str(tmp_path / "page.md")]
    )
    assert "groups: above the goal:" in done.output
    assert "before **" in done.output and "after **" not in done.output


# The worst of each promise; all rows of all cases are below. Comparisons are drawn by fixed seeds:
# what passes, passes always.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("single", {"metric": "accuracy", "deviations": (1, 3), "items": 500, "seeds": 3}),
        ("choosing", {"metric": "accuracy", "deviations": (3, 1), "rates": 5, "seeds": 3}),
        ("looks", {"metric": "accuracy", "deviations": (1, 2), "seeds": (3, 4, 5, 6, 7)}),
    ],
)
def test_v1_equal_cells_are_decided_in_at_most_6_per_cent(name, settings):
    assert after(name, row_of(name, **settings), 1000)["value"] <= GOAL


@pytest.mark.slow
def test_v2_seeds_that_fail_decide_in_at_most_6_per_cent():
    row = row_of("failing", equal="trained", deviations=(2, 1), failing=0.2, gap=10, seeds=3)
    assert after("failing", row, 1000)["value"] <= GOAL


@pytest.mark.slow
@pytest.mark.parametrize("sizes", ["documents", "one third in one"])
def test_v3_items_that_belong_together_decide_in_at_most_6_per_cent(sizes):
    row = row_of("groups", metric="accuracy", ICC=0.3, sizes=sizes, groups=20)
    assert after("groups", row, 1000)["value"] <= GOAL


@pytest.fixture
def few_others(monkeypatch):
    """Texts that tell which of two learners is truly better; the shares need few."""
    for name in ("folds", "choosing-in-folds"):
        monkeypatch.setattr(module_of(name), "OTHERS", 300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "column"),
    [
        ("bad-seeds", {"seeds": 5}, "after"),
        ("extending", {"by": "trials", "behind": 0, "deviations": (3, 1), "dev": 50}, "after"),
        ("folds", {"texts": 200, "features": 60, "behind": 0.0}, "falsely decided after"),
        ("choosing-in-folds", {"texts": 100, "chosen": "first", "behind": 0.0}, "falsely decided"),
    ],
)
def test_v6_folds_and_rare_bad_seeds_decide_in_at_most_7_per_cent(
    name, settings, column, few_others
):
    assert errors_of(name, row_of(name, **settings), 300)[column]["value"] <= 7


@pytest.mark.slow
def test_v7_six_points_are_seen_in_400_texts(few_others):
    """The worse of two learners is recommended in at most 5 %."""
    row = row_of("folds", texts=400, features=60, behind=0.3)
    assert errors_of("folds", row, 200)["misled after"]["value"] <= 5


@pytest.mark.large
@pytest.mark.parametrize("name", CASES)
def test_v1_v2_v3_all_cases_stay_below_what_they_allow(name):
    case, wrong = module_of(name), []
    limits = {
        column: kind.most
        for column, kind in case.COLUMNS.items()
        if "before" not in column and isinstance(kind, Share) and kind.most is not None
    }
    for row in case.ROWS:
        found = errors_of(name, row, 10_000)
        wrong += [
            (row, column, found[column])
            for column, most in limits.items()
            if column in found and found[column]["value"] > most
        ]
    assert wrong == []


def test_the_page_has_the_summary_of_what_is_recorded():
    text = (DOCS / "verdict.md").read_text("utf-8")
    table = summary(recorded(DOCS), {name: module_of(name) for name in CASES})
    assert with_summary(text, table) == text
    assert table.count("\n") == 1 + len(CASES)
