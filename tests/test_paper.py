import pytest

from tf_adapt import paper

# FACTS c.1, as one line for each model, ❄ then 🔥, in the order of its header.
DATASETS = ["CoNLL-2003", "SST-2", "MNLI", "SICK-E", "SICK-R", "MRPC", "STS-B"]
LINES = {
    "elmo": ("91.7 91.8 79.6 86.3 86.1 76.0 75.9", "91.9 91.2 76.4 83.3 83.3 74.7 75.5"),
    "bert": ("92.2 93.0 84.6 84.8 86.4 78.1 82.9", "92.4 93.5 84.6 85.8 88.7 84.8 87.1"),
}


@pytest.mark.parametrize("family", paper.FAMILIES)
def test_table_2_is_the_printed_one(family):
    frozen, tuned = (map(float, line.split()) for line in LINES[family])
    printed = zip(frozen, tuned, strict=True)
    assert paper.TABLE_2[family] == dict(zip(DATASETS, printed, strict=True))
    assert list(paper.TABLE_2_DATASETS) == DATASETS


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


@pytest.mark.parametrize(
    ("points", "tone"),
    [(1.0, "tune"), (0.9, None), (0.0, None), (-0.9, None), (-1.0, "freeze"), (6.7, "tune"),
     (85.8 - 84.8, "tune"), (0.999, None)],
)  # fmt: skip
def test_colours(points, tone):
    assert paper.colour(points) == tone


def test_every_difference_has_one_decimal():
    for scores in (*paper.TABLE_2["elmo"].values(), *paper.TABLE_2["bert"].values()):
        tenths = round(scores[1] * 10) - round(scores[0] * 10)
        assert paper.difference(scores) == tenths / 10


def test_what_is_said_of_tables_3_to_5():
    assert all(attention > without for attention, without in paper.TABLE_3.values())
    assert paper.TABLE_3["STS-B"] == (80.2, 38.5)
    better = [name for name, (jointly, apart) in paper.TABLE_4.items() if jointly > apart]
    assert better == ["SICK-E", "STS-B", "MRPC"]
    frozen = paper.TABLE_5["feature_extraction", "BiLSTM + CRF"]
    assert frozen - paper.TABLE_5["feature_extraction", "CRF"] == pytest.approx(3.6)
    tuned = "fine_tuning, gradual unfreezing"
    assert paper.TABLE_5[tuned, "BiLSTM + CRF"] < paper.TABLE_5[tuned, "CRF"] == frozen
