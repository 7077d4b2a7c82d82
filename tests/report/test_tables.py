from dataclasses import replace

import report_contents as contents

from tf_adapt.report import tables
from tf_adapt.report.cells import ranked
from tf_adapt.report.content import Teacher
from tf_adapt.report.scored_cells import FailedSeeds

FROZEN, TUNED = "feature_extraction", "fine_tuning"


def texts(row):
    return [[entry.text for entry in entries] for entries in row]


def test_costs():
    cell = contents.cell("bert", FROZEN, (0.5,))
    cell = replace(cell, costs=replace(cell.costs, choosing_seconds=57.2))
    unknown = replace(contents.cell("elmo", TUNED, (0.4,)), costs=contents.UNKNOWN_COSTS)
    table = tables.cost_table(ranked([cell, unknown]), "repeat")
    assert table.caption.startswith("Costs of a training, means over repeats (of memory the least")
    rows = table.rows
    assert texts(rows[0])[1:] == [["50.0"], ["812 k"], ["14.3"], ["911"], ["3.12"], ["3.25"]]
    assert rows[0][2][0].note == "13 % of all"
    assert rows[0][3][0].note == "+ 57.2 to choose"
    assert texts(rows[1])[1:] == [["40.0"]] + [["–"]] * 5


def test_teacher_and_students():
    teacher = Teacher(
        run="runs/large",
        temperature=2.0,
        weight=0.7,
        unlabelled=1200,
        score=0.61,
        parameters=22_000_000,
        megabytes=88.0,
        serving_seconds_per_1000=41.25,
    )
    cell = contents.cell("bert", FROZEN, (0.5,))
    unknown = replace(contents.cell("elmo", TUNED, (0.4,)), costs=contents.UNKNOWN_COSTS)
    table = tables.teacher_table(teacher, ranked([cell, unknown]))
    assert texts(table.rows[0]) == [["teacher: runs/large"], ["61.0"], ["22 M"], ["88"], ["41.2"]]
    # 6,244,445 weights of four bytes.
    assert texts(table.rows[1])[1:] == [["50.0"], ["6.24 M"], ["25"], ["3.12"]]
    assert texts(table.rows[2])[1:] == [["40.0"]] + [["–"]] * 3
    assert "weight of the teacher's answers 0.7, 1,200 texts without labels" in table.caption


def test_sources_of_the_labels():
    sources = {"ann": {"votes": 1200, "accuracy": 0.914}, "b|n": {"votes": 0, "accuracy": None}}
    table = tables.sources_table(sources)
    assert texts(table.rows[0]) == [["ann"], ["1,200"], ["91.4"]]
    assert texts(table.rows[1]) == [["b|n"], ["0"], ["–"]]


def test_the_chosen_rate_is_named_and_a_failed_trial_too():
    order = ranked([contents.cell("bert", TUNED, (0.5,))])
    (row,) = tables.tried_table(order, "dev").rows
    found = [(entry.text, entry.note, entry.strong) for (entry,) in row[2:]]
    assert found == [
        ("45.0", "at 0.0001", False),
        ("50.5", "at 0.0003, chosen", True),
        ("diverged", "at 0.001", False),
    ]


def test_one_rate_alone_was_not_chosen():
    cell = replace(contents.cell("bert", TUNED, (0.5,)), tried=[], learning_rate=0.0003)
    table = tables.tried_table(ranked([cell]), "dev")
    assert "none was chosen" in table.caption
    assert "tried" not in table.caption
    assert [texts(row)[1:] for row in table.rows] == [[["0.0003"]]]


def test_every_seed_says_how_it_ended():
    cell = contents.with_results(
        contents.cell("bert", TUNED, (0.7, None, 0.5, None)),
        outcomes=["trained", "diverged", "one_answer", None],
        failed=FailedSeeds(diverged=1, one_answer=1),
    )
    table = tables.seeds_table(ranked([cell]), [0, 1, 2, 3])
    (row,) = table.rows
    assert [(entry.text, entry.note) for (entry,) in row[4:]] == [
        ("70.0", ""),
        ("diverged", ""),
        ("50.0", "failed"),
        ("–", ""),
    ]
    assert "of those that trained (where none did, of all)" in table.caption
    assert "Failed: one answer to everything" in table.caption
    other = tables.seeds_table(ranked([contents.cell("bert", TUNED, (0.7, None))]), [0, 1])
    assert "Failed" not in other.caption


def test_negative_scores():
    cell = contents.cell("bert", TUNED, (-0.031, -0.052))
    (row,) = tables.seeds_table(ranked([cell]), [0, 1]).rows
    assert texts(row)[1:] == [["−4.1 ± 1.5"], ["−5.2"], ["−3.1"], ["−3.1"], ["−5.2"]]


def test_confusion_shares_are_of_the_row():
    cell = contents.cell("bert", TUNED, (0.5, 0.6))
    order = ranked([replace(cell, confusion=[[3, 1, 0], [0, 0, 0], [1, 1, 2]])])
    table = tables.confusion_table(order[0], contents.LABELS, "2 seeds")
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
    cells[1] = replace(cells[1], layer_weights=[0.25, 0.75])
    rows = tables.weights_table(ranked(cells)).rows
    assert texts(rows[1])[1:] == [["0.250"], ["0.750"], [""], [""], [""]]
