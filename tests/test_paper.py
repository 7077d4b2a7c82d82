from pathlib import Path

import pytest
import yaml
from scipy.stats import pearsonr, t

from tf_adapt import paper
from tf_adapt.data.catalogue import DATASETS as DATASETS_BY_NAME

# FACTS c.1, as one line for each model, ❄ then 🔥, in the order of its header.
DATASETS = ["CoNLL-2003", "SST-2", "MNLI", "SICK-E", "SICK-R", "MRPC", "STS-B"]
LINES = {
    "elmo": ("91.7 91.8 79.6 86.3 86.1 76.0 75.9", "91.9 91.2 76.4 83.3 83.3 74.7 75.5"),
    "bert": ("92.2 93.0 84.6 84.8 86.4 78.1 82.9", "92.4 93.5 84.6 85.8 88.7 84.8 87.1"),
}


def test_table_2_is_the_printed_one():
    for family in paper.FAMILIES:
        frozen, tuned = (map(float, line.split()) for line in LINES[family])
        printed = zip(frozen, tuned, strict=True)
        assert paper.TABLE_2[family] == dict(zip(DATASETS, printed, strict=True))
        assert list(paper.TABLE_2_DATASETS) == DATASETS


def test_the_row_of_skip_thoughts_is_the_printed_one():
    printed = zip(DATASETS, ["–", "81.8", "62.9", "–", "86.6", "75.8", "71.8"], strict=True)
    assert {name: float(one) for name, one in printed if one != "–"} == paper.SKIP_THOUGHTS
    assert set(paper.NAMED_DATASETS.values()) == set(DATASETS)
    for name, dataset in paper.NAMED_DATASETS.items():
        assert DATASETS_BY_NAME[name].kind == paper.TABLE_2_DATASETS[dataset][0]


@pytest.mark.parametrize("family", paper.FAMILIES)
@pytest.mark.parametrize("group", sorted(set(paper.GROUPS.values())))
def test_table_1_follows_from_the_majority_of_table_2(family, group):
    votes = []
    for dataset, (frozen, tuned) in paper.TABLE_2[family].items():
        if paper.GROUPS[paper.TABLE_2_DATASETS[dataset][0]] == group:
            tenths = round(tuned * 10) - round(frozen * 10)
            votes.append("🔥" if tenths >= 10 else "❄" if tenths <= -10 else "=")
    meant = {"feature_extraction": "❄", "fine_tuning": "🔥", "alike": "="}
    assert votes.count(meant[paper.TABLE_1[family, group]]) > len(votes) / 2


COLOURS = [(1.0, "tune"), (0.9, None), (0.0, None), (-0.9, None), (-1.0, "freeze"), (6.7, "tune"),
 (85.8 - 84.8, "tune"), (0.999, None)]  # fmt: skip


def test_colours():
    for points, tone in COLOURS:
        assert paper.colour(points) == tone


def test_every_difference_has_one_decimal():
    for scores in (*paper.TABLE_2["elmo"].values(), *paper.TABLE_2["bert"].values()):
        tenths = round(scores[1] * 10) - round(scores[0] * 10)
        assert paper.tuned_minus_frozen(scores) == tenths / 10


def test_what_is_said_of_tables_3_to_5():
    assert all(attention > without for attention, without in paper.TABLE_3.values())
    assert paper.TABLE_3["STS-B"] == (80.2, 38.5)
    better = [name for name, (jointly, apart) in paper.TABLE_4.items() if jointly > apart]
    assert better == ["SICK-E", "STS-B", "MRPC"]
    frozen = paper.TABLE_5["feature_extraction", "BiLSTM + CRF"]
    assert frozen - paper.TABLE_5["feature_extraction", "CRF"] == pytest.approx(3.6)
    tuned = "fine_tuning, gradual unfreezing"
    assert paper.TABLE_5[tuned, "BiLSTM + CRF"] < paper.TABLE_5[tuned, "CRF"] == frozen


# FACTS c.1, in its order of genres: ❄, 🔥 − ❄, divergence.
GENRES = ["telephone", "government", "travel", "fiction", "slate"]
TABLE_6 = ("84.4 86.7 86.1 84.5 80.9", "-1.1 -0.2 -0.6 +0.4 -0.6", ".21 .18 .14 .09 .09")


def columns_of_table_6() -> list[list[float]]:
    return [[float(number) for number in line.split()] for line in TABLE_6]


def test_table_6_has_no_significant_correlation_with_the_divergence():
    frozen, difference, divergence = columns_of_table_6()
    tuned = [first + second for first, second in zip(frozen, difference, strict=True)]
    compared = {paper.FROZEN: frozen, paper.TUNED: tuned, "difference": difference}
    found = {name: pearsonr(divergence, values) for name, values in compared.items()}
    assert all(one.pvalue > 0.25 for one in found.values())
    assert {
        name: (round(one.statistic, 2), round(one.pvalue, 2)) for name, one in found.items()
    } == paper.TABLE_6_CORRELATIONS
    # r = t / √(n − 2 + t²), with the two-sided t of five pairs.
    critical = t.ppf(0.975, 3)
    smallest = critical / (3 + critical**2) ** 0.5
    assert round(smallest, 2) == paper.TABLE_6_SMALLEST_SIGNIFICANT


def test_the_config_of_table_6_quotes_it():
    path = Path(__file__).parents[1] / "configs" / "paper" / "table6.yaml"
    expected = yaml.safe_load(path.read_text("utf-8"))["about"]["expected"]
    rows = zip(*columns_of_table_6(), strict=True)
    for genre, (frozen, difference, divergence) in zip(GENRES, rows, strict=True):
        sign = "+" if difference > 0 else "−"
        assert f"{genre} {frozen}, {sign}{abs(difference)}, {divergence:.2f}" in expected
