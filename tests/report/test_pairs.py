import re
from dataclasses import replace

import report_contents as contents

from tf_adapt.report.cells import ranked
from tf_adapt.report.pairs import REASONS, decision, pair_tables
from tf_adapt.statistics.pairs import compare_pairs
from tf_adapt.statistics.relation import AHEAD, ALIKE, PairTest, relation


def content_with(verdict_best):
    cells = [
        contents.cell("worst", "fine_tuning", (0.5, 0.5)),
        contents.cell("best", "fine_tuning", (0.7, 0.7)),
        contents.cell("middle", "fine_tuning", (0.6, 0.6)),
    ]
    content = contents.comparison(cells, (0, 1))
    content.pairs[0] = replace(
        content.pairs[0], difference=-0.2, interval=[-0.25, -0.1], p=0.0004, p_holm=0.0012,
        decided=True, seeds_needed=None, why="decided",
    )  # fmt: skip
    return contents.with_verdict(content, best=verdict_best)


def a_pair(**values):
    """The test of two cells x and y; what is not given does not matter."""
    any_test = {"a": "x", "b": "y", "difference": 0.0, "interval": None, "level": 0.97, "p": 0.5}
    others = {"p_holm": 0.5, "decided": False, "alike": False, "seeds_needed": None}
    return PairTest(**any_test | others | values)


def test_pairs_are_turned_so_that_the_better_cell_comes_first():
    content = content_with("best fine_tuning linear")
    first, others = pair_tables(content, ranked(content.cells))
    assert [row[0][0].text.split(" ")[1] for row in first.rows] == ["middle", "worst"]
    assert "first is always 1. best" in first.caption
    values = [entry.text for (entry,) in first.rows[1][1:]]
    assert values == ["+20.0", "+10.0 to +25.0", "< 0.001", "0.001", "yes"]
    assert first.columns[2] == "97 % interval"
    assert "Against the best cell" in first.caption
    assert "is over 3 pairs that can be tested" in first.caption
    (rest,) = others.rows
    assert rest[0][0].text.startswith("3. worst")
    assert "first is always 2. middle" in others.caption


def test_the_verdicts_best_need_not_have_the_best_mean():
    content = content_with("middle fine_tuning linear")
    first, others = pair_tables(content, ranked(content.cells))
    assert [[row[0][0].text[3:7], row[1][0].text[3:7]] for row in first.rows] == [
        ["best", "midd"],
        ["midd", "wors"],
    ]
    assert "Against the best pretrained cell" in first.caption
    assert len(others.rows) == 1


def test_without_a_verdict_the_best_mean_is_the_best():
    content = content_with(None)
    first, _ = pair_tables(content, ranked(content.cells))
    assert "first is always 1. best" in first.caption


def test_one_cell_has_no_pairs():
    content = contents.one_cell()
    assert pair_tables(content, ranked(content.cells)) == (None, None)


NEEDED = [
    ([7, 30], "more_seeds", "no: 7 to 30 seeds in all needed"),
    ([2, 2], "more_seeds", "no: 4 seeds in all needed"),
    ([2, 9], "more_seeds", "no: 4 to 9 seeds in all needed"),
    ([7, None], "more_seeds", "no: 7 seeds in all needed, or many more"),
    ([None, None], "more_seeds", "no: over 100 seeds in all needed"),
    (None, "more_test_examples", "no: more test examples needed: seeds alone would hardly do"),
    (
        None,
        "few_seeds",
        "no: fewer than three seeds trained, which no test can judge",
    ),
    (None, "identical", "no: the same answers with every seed"),
    (None, "few_items", "no: too few test items"),
    (None, "no_analysis_left", "no: no interim analysis is left that may decide"),
]


def test_what_it_would_take():
    for needed, why, expected in NEEDED:
        assert decision(a_pair(seeds_needed=needed, why=why), 3) == expected


def test_with_folds_it_takes_repeats():
    for needed, why, expected in [
        ([7, 30], "more_seeds", "no: 7 to 30 repeats in all needed"),
        (None, "few_seeds", "no: fewer than two repeats trained, which no test can judge"),
        (None, "identical", "no: the same answers with every repeat"),
    ]:
        assert decision(a_pair(seeds_needed=needed, why=why), 2, "repeat") == expected


RELATIONS = [
    (True, False, "alike: within a point"),
    (True, True, "alike: within a point, though decided"),
    (False, True, "yes"),
]


def test_alike_comes_before_decided_as_in_the_verdict():
    for alike, decided, expected in RELATIONS:
        why = "decided" if decided else "alike"
        pair = a_pair(difference=0.004, decided=decided, alike=alike, why=why)
        assert decision(pair, 3) == expected
        assert (relation(pair, "x") == ALIKE) == expected.startswith("alike")
        assert (relation(pair, "x") == AHEAD) == (expected == "yes")


def test_every_reason_of_the_tests_has_words():
    told = re.findall(r"^    - `(\w+)`", compare_pairs.__doc__, flags=re.M)
    told = [why for why in told if why not in ("decided", "alike", "more_seeds")]
    assert sorted(told) == sorted(REASONS)


def untested(why, **changes):
    content = content_with("best fine_tuning linear")
    changes = {"p_holm": None, "decided": False, "seeds_needed": None, "why": why} | changes
    return replace(content, pairs=[replace(pair, **changes) for pair in content.pairs])


def test_what_was_not_compared_has_no_numbers():
    for why in ["identical", "few_items"]:
        content = untested(why, p=1.0, interval=[0.0, 0.0])
        first, _ = pair_tables(content, ranked(content.cells))
        assert [entry.text for (entry,) in first.rows[0][2:-1]] == ["–", "–", "–"]
        assert "No pair can be tested." in first.caption


def test_one_seed_has_an_interval_of_the_items_and_none_at_all_has_none():
    content = untested("few_seeds", p=0.04, interval=[0.01, 0.03])
    first, _ = pair_tables(content, ranked(content.cells))
    assert [entry.text for (entry,) in first.rows[0][2:-1]][1:] == ["0.040", "–"]
    content = untested("few_seeds", p=1.0, interval=None)
    first, _ = pair_tables(content, ranked(content.cells))
    assert [entry.text for (entry,) in first.rows[0][2:-1]] == ["–", "1.000", "–"]


def test_holms_correction_is_over_the_pairs_that_can_be_tested():
    content = content_with("best fine_tuning linear")
    content.pairs[1] = replace(content.pairs[1], p_holm=None, why="identical", decided=False)
    first, _ = pair_tables(content, ranked(content.cells))
    assert "Holm's correction is over 2 pairs that can be tested." in first.caption


def test_without_a_cell_that_trained_there_is_no_best():
    content = untested("few_seeds")
    content.cells.append(contents.cell("none", "fine_tuning", (None, None)))
    content = contents.with_verdict(content, best=None)
    first, others = pair_tables(content, ranked(content.cells))
    assert len(first.rows) + len(others.rows) == 3
    content = replace(content, pairs=[])
    assert pair_tables(content, ranked(content.cells)) == (None, None)
