import pytest
import report_contents as contents

from tf_adapt.report.cells import ranked
from tf_adapt.report.pairs import decision, pair_tables


def content_with(verdict_best):
    cells = [
        contents.cell("worst", "fine_tuning", (0.5, 0.5)),
        contents.cell("best", "fine_tuning", (0.7, 0.7)),
        contents.cell("middle", "fine_tuning", (0.6, 0.6)),
    ]
    content = contents.comparison(cells, (0, 1))
    content["pairs"][0] |= {
        "difference": -0.2, "interval": [-0.25, -0.1], "p": 0.0004, "p_holm": 0.0012,
        "decided": True, "seeds_needed": None, "why": "decided",
    }  # fmt: skip
    content["verdict"]["best"] = verdict_best
    return content


def test_pairs_are_turned_so_that_the_better_cell_comes_first():
    content = content_with("best fine_tuning linear")
    first, others = pair_tables(content, ranked(content["cells"]))
    assert [row[0][0].text.split(" ")[1] for row in first.rows] == ["middle", "worst"]
    assert "first is always 1. best" in first.caption
    values = [entry.text for (entry,) in first.rows[1][1:]]
    assert values == ["+20.0", "+10.0 to +25.0", "< 0.001", "0.001", "yes"]
    assert first.columns[2] == "95 % interval"
    assert "all 3 pairs" in first.caption
    (rest,) = others.rows
    assert rest[0][0].text.startswith("3. worst")
    assert "first is always 2. middle" in others.caption


def test_the_verdicts_best_need_not_have_the_best_mean():
    content = content_with("middle fine_tuning linear")
    first, others = pair_tables(content, ranked(content["cells"]))
    assert [[row[0][0].text[3:7], row[1][0].text[3:7]] for row in first.rows] == [
        ["best", "midd"],
        ["midd", "wors"],
    ]
    assert len(others.rows) == 1


def test_without_a_verdict_the_best_mean_is_the_best():
    content = content_with(None)
    first, _ = pair_tables(content, ranked(content["cells"]))
    assert "first is always 1. best" in first.caption


def test_one_cell_has_no_pairs():
    content = contents.one_cell()
    assert pair_tables(content, ranked(content["cells"])) == (None, None)


@pytest.mark.parametrize(
    ("needed", "why", "expected"),
    [
        (7, "more_seeds", "no: 4 more seeds needed, 7 in all"),
        (4, "more_seeds", "no: 1 more seed needed, 4 in all"),
        (None, "more_seeds", "no: more seeds needed"),
        (3, "more_seeds", "no: more seeds needed"),
        (None, "more_test_examples", "no: more test examples needed: seeds alone would not do"),
        (None, "one_seed", "no: one seed decides nothing"),
    ],
)
def test_what_it_would_take(needed, why, expected):
    assert decision({"decided": False, "seeds_needed": needed, "why": why}, 3) == expected
