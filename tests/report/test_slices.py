"""The section of a report on slices: scores, what is challenging, what is not tested."""

from dataclasses import replace

import report_contents as contents

from tf_adapt.printing.words import NOTHING
from tf_adapt.report.blocks import Items, Paragraph, Table
from tf_adapt.report.cells import ranked
from tf_adapt.report.content import DataSlice
from tf_adapt.report.lines import comparison_lines
from tf_adapt.report.markdown import to_markdown
from tf_adapt.report.sections import sections
from tf_adapt.report.slices import slices
from tf_adapt.statistics.slice_score import SliceScore

FINE = SliceScore(examples=40, score=0.6, interval=[0.5, 0.7], rest=0.62, p=0.4, p_holm=0.8)
HARD = SliceScore(
    examples=40, score=0.4, interval=[0.3, 0.5], rest=0.7, p=0.001, p_holm=0.002, challenging=True
)
UNDEFINED = SliceScore(examples=2, score=None, interval=None, rest=0.6, p=None)


def with_slices(content):
    ids = [one.cell.id for one in ranked(content.cells)]
    return replace(
        content,
        slices=[
            DataSlice(
                name="negation",
                rule="a text with any of not",
                examples=40,
                errors_of=None,
                cells={ids[0]: HARD} | dict.fromkeys(ids[1:], FINE),
            ),
            DataSlice(
                name="hard",
                rule="predicted wrongly by runs/a",
                examples=2,
                errors_of="runs/a",
                cells=dict.fromkeys(ids, UNDEFINED),
            ),
        ],
    )


def test_scores_and_what_is_challenging():
    content = with_slices(contents.complete())
    order = ranked(content.cells)
    (section,) = slices(content, order)
    assert section.title == "Slices of the data"
    paragraph, table, items = section.blocks
    assert isinstance(table, Table)
    expected = (
        f"Challenging slices, whose score is below that of the rest: negation for {order[0].name}."
    )
    assert paragraph == Paragraph(expected)
    assert table.columns == ["cell", "all", "negation (40)", "hard (2)"]
    first, second = table.rows[0], table.rows[1]
    assert (first[2][0].text, first[2][0].strong) == ("40.0", True)
    assert first[2][0].note == "30.0 to 50.0; challenging (rest 70.0, p 0.002)"
    assert (second[2][0].text, second[2][0].note) == ("60.0", "50.0 to 70.0")
    assert (first[3][0].text, first[3][0].note) == (NOTHING, "undefined")
    assert isinstance(items, Items)
    assert items.texts[0] == "negation, 40 examples: a text with any of not."
    assert "Errors of that run chose it" in items.texts[1]
    assert f"over {len(order)} of them, level 3 %" in items.texts[2]
    assert expected in comparison_lines(content, "out")


def test_without_slices_there_is_no_section():
    content = contents.complete()
    assert slices(content, ranked(content.cells)) == []
    assert not any("slices" in line for line in comparison_lines(content, "out"))


def test_cells_of_which_no_seed_trained():
    content = contents.incomplete()
    alive = [one.cell.id for one in ranked(content.cells) if one.cell.results.trained]
    one = DataSlice(name="x", rule="r", examples=40, errors_of=None, cells={alive[0]: HARD})
    content = replace(content, slices=[one], look=9)
    *_, table, items = slices(content, ranked(content.cells))[0].blocks
    assert len(table.rows) == len(alive)
    assert "no interim analysis is left that may decide" in items.texts[-1]
    assert "Slices of the data" in to_markdown(sections(content))
    nothing = replace(content, slices=[replace(one, cells={})])
    assert "none is shown" in slices(nothing, ranked(content.cells))[0].blocks[0].text
