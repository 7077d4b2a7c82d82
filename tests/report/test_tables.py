import pytest
import report_contents as contents

from tf_adapt import paper
from tf_adapt.report import tables
from tf_adapt.report.cells import ranked

FROZEN, TUNED = "feature_extraction", "fine_tuning"


def texts(row):
    return [[entry.text for entry in entries] for entries in row]


@pytest.mark.parametrize(
    ("family", "tones"),
    [
        ("elmo", {"MNLI": "freeze", "SICK-E": "freeze", "SICK-R": "freeze", "MRPC": "freeze"}),
        ("bert", {"SICK-E": "tune", "SICK-R": "tune", "MRPC": "tune", "STS-B": "tune"}),
    ],
)
def test_the_papers_table_2_gets_the_papers_colours(family, tones):
    for dataset, (frozen, tuned) in paper.TABLE_2[family].items():
        cells = [
            contents.cell(family, FROZEN, (frozen / 100,)),
            contents.cell(family, TUNED, (tuned / 100,)),
        ]
        (row,) = tables.paper_table(contents.comparison(cells, (0,))).rows
        cold, hot = row[1][0], row[2][0]
        assert (cold.text, hot.text) == (f"{frozen:.1f}", f"{tuned:.1f}")
        expected = tones.get(dataset)
        assert cold.tone == ("freeze" if expected == "freeze" else None), dataset
        assert hot.tone == ("tune" if expected == "tune" else None), dataset


def test_a_coloured_cell_says_so_in_words():
    table = tables.paper_table(contents.complete())
    tuned = table.rows[0][2][0]
    assert (tuned.text, tuned.tone) == ("65.1 ± 1.1", "tune")
    assert tuned.note == "linear; tune: 🔥 − ❄ +3.4"
    frozen = table.rows[1][1][0]
    assert frozen.note == "esim; freeze: 🔥 − ❄ −3.7"


def test_rows_are_encoders_and_columns_adaptations():
    table = tables.paper_table(contents.complete())
    assert table.columns == [
        "encoder", "❄ feature_extraction", "🔥 fine_tuning", "two_stage", "gradual_unfreezing",
    ]  # fmt: skip
    names = [row[0][0].text for row in table.rows]
    assert names == ["bert_small", "elmo_small", "bert_small, untrained"]
    assert texts(table.rows[2])[3:] == [["–"], ["–"]]
    assert "3 seeds" in table.caption


def test_of_several_heads_the_best_is_coloured():
    cells = [
        contents.cell("bert", FROZEN, (0.70,), head="esim"),
        contents.cell("bert", FROZEN, (0.60,), head="linear"),
        contents.cell("bert", TUNED, (0.65,)),
    ]
    table = tables.paper_table(contents.comparison(cells, (0,)))
    first, second = table.rows[0][1]
    assert (first.tone, second.tone, table.rows[0][2][0].tone) == ("freeze", None, None)
    assert (first.note, second.note) == ("esim; freeze: 🔥 − ❄ −5.0", "linear")
    assert "of several heads the best" in table.caption
    assert "one seed, so no deviation" in table.caption


def test_nothing_is_coloured_or_explained_without_both():
    cells = [contents.cell("bert", TUNED, (0.6, 0.7)), contents.cell("elmo", "two_stage", (0.2, 1))]
    table = tables.paper_table(contents.comparison(cells, (0, 1)))
    assert table.columns == ["encoder", "🔥 fine_tuning", "two_stage"]
    assert not any(entry.tone for row in table.rows for entries in row for entry in entries)
    assert "Coloured" not in table.caption


def test_a_missing_seed_is_said():
    table = tables.paper_table(contents.incomplete())
    tuned = table.rows[0][2][0]
    assert (tuned.text, tuned.note) == ("–", "linear; 1 of 3 seeds")


def test_costs():
    cell = contents.cell("bert", FROZEN, (0.5,))
    unknown = contents.cell("elmo", TUNED, (0.4,))
    unknown["costs"] = dict.fromkeys(unknown["costs"])
    rows = tables.cost_table(ranked([cell, unknown])).rows
    assert texts(rows[0])[1:] == [["50.0"], ["812 k"], ["14.3"], ["911"], ["3.12"], ["3.25"]]
    assert rows[0][2][0].note == "13 % of all"
    assert texts(rows[1])[1:] == [["40.0"]] + [["–"]] * 5


def test_the_chosen_rate_is_named_and_a_failed_trial_too():
    order = ranked([contents.cell("bert", TUNED, (0.5,))])
    (row,) = tables.tried_table(order, "dev").rows
    found = [(entry.text, entry.note, entry.strong) for (entry,) in row[2:]]
    assert found == [
        ("45.0", "at 0.0001", False),
        ("50.5", "at 0.0003, chosen", True),
        ("failed", "at 0.001", False),
    ]


def test_confusion_shares_are_of_the_row():
    order = ranked([contents.cell("bert", TUNED, (0.5, 0.6))])
    order[0].cell["confusion"] = [[3, 1, 0], [0, 0, 0], [1, 1, 2]]
    table = tables.confusion_table(order[0], contents.LABELS, 2)
    found = [[(entry.text, entry.note, entry.share) for (entry,) in row[1:]] for row in table.rows]
    assert found == [
        [("3", "75 %", 0.75), ("1", "25 %", 0.25), ("0", "0 %", 0.0)],
        [("0", "0 %", 0.0)] * 3,
        [("1", "25 %", 0.25), ("1", "25 %", 0.25), ("2", "50 %", 0.5)],
    ]
    assert table.columns[1] == "predicted NEUTRAL"
    assert "2 seeds" in table.caption


def test_weights_of_encoders_of_different_depth_fill_their_rows():
    cells = [contents.cell("a", FROZEN, (0.5,)), contents.cell("b", FROZEN, (0.4,))]
    cells[1]["layer_weights"] = [0.25, 0.75]
    rows = tables.weights_table(ranked(cells)).rows
    assert texts(rows[1])[1:] == [["0.250"], ["0.750"], [""], [""], [""]]
