"""The section of a report on slices of the data: scores, intervals, which are challenging."""

from tf_adapt.printing import words
from tf_adapt.printing.words import counted, visible
from tf_adapt.report.blocks import Entry, Heading, Items, Paragraph, Table, field_of
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content, DataSlice
from tf_adapt.statistics.alpha_spending import level_of
from tf_adapt.statistics.relation import FEWEST_ITEMS
from tf_adapt.statistics.slice_score import LEVEL, SliceScore


def slices(content: Content, order: list[Ranked]) -> list:
    """The blocks of the section; none without slices."""
    if not content.slices:
        return []
    trained = [one for one in order if one.cell.results.trained]
    return [
        Heading("Slices of the data"),
        Paragraph(challenging(content, trained)),
        *([_table(content, trained)] if trained else []),
        Items([*map(_rule, content.slices), *_notes(content)]),
    ]


def challenging(content: Content, order: list[Ranked]) -> str:
    """Which slices are challenging, and for which cells."""
    said = []
    for one in content.slices:
        cells = [ranked.name for ranked in order if _is_challenging(one, ranked)]
        if cells:
            every = len(cells) == len(order)
            said.append(f"{one.name} for {'every cell' if every else '; '.join(cells)}")
    if not said:
        return "Challenging slices: none is shown to score below the rest of the examples."
    return f"Challenging slices, whose score is below that of the rest: {', '.join(said)}."


def _is_challenging(one: DataSlice, ranked: Ranked) -> bool:
    return ranked.cell.id in one.cells and one.cells[ranked.cell.id].challenging


def _table(content: Content, order: list[Ranked]) -> Table:
    columns = ["cell", "all", *(f"{one.name} ({one.examples:,})" for one in content.slices)]
    rows = [
        [
            field_of(ranked.name),
            field_of(words.score(ranked.cell.results.mean)),
            *([_entry(one.cells.get(ranked.cell.id))] for one in content.slices),
        ]
        for ranked in order
    ]
    caption = (
        f"Score × 100 on all of {visible(content.scored_on)} and on each slice (its examples), "
        f"means over the seeds that trained; {100 * LEVEL:.0f} % intervals over seeds and test "
        "items. Challenging: below the rest, which is in brackets"
    )
    return Table(caption, columns, rows)


def _entry(found: SliceScore | None) -> Entry:
    if found is None or found.score is None:
        return Entry(words.NOTHING, "undefined")
    notes = []
    if found.interval is not None:
        low, high = found.interval
        notes.append(f"{words.score(low)} to {words.score(high)}")
    if found.challenging:
        p = words.probability(found.p_holm)
        notes.append(f"challenging (rest {words.score(found.rest)}, p {p})")
    return Entry(words.score(found.score), "; ".join(notes), strong=found.challenging)


def _rule(one: DataSlice) -> str:
    said = f"{one.name}, {counted(one.examples, 'example')}: {visible(one.rule)}."
    if one.errors_of is not None:
        said += (
            " Errors of that run chose it, so that runs like it score low by construction: it is "
            "not tested."
        )
    return said


def _notes(content: Content) -> list[str]:
    tested = sum(score.p is not None for one in content.slices for score in one.cells.values())
    level = level_of(content.look)
    said = f"each slice against the rest, in each cell; Holm's correction over {tested} of them"
    if not level:
        said += "; no interim analysis is left that may decide"
    else:
        said += f", level {100 * level:.3g} %"
    few = f"A slice or rest of fewer than {FEWEST_ITEMS} items is not tested."
    return [f"Tests: {said}. {few}" if tested else f"No tests. {few}"]
