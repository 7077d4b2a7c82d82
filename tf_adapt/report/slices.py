"""The section of a report on slices of the data: scores, intervals, which are challenging."""

from tf_adapt.printing import words
from tf_adapt.printing.words import counted, visible
from tf_adapt.report.blocks import Entry, Items, Paragraph, Section, Table, field_of
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content, DataSlice
from tf_adapt.statistics.alpha_spending import level_of
from tf_adapt.statistics.relation import FEWEST_ITEMS
from tf_adapt.statistics.slice_score import LEVEL, SliceScore


def slices(content: Content, order: list[Ranked]) -> list:
    """The section; none without slices."""
    if not content.slices:
        return []
    trained = [entry for entry in order if entry.cell.results.trained]
    blocks = [
        Paragraph(challenging(content, trained)),
        *([_table(content, trained)] if trained else []),
        Items([*map(_rule, content.slices), *_notes(content)]),
    ]
    return [Section("Slices of the data", blocks)]


def challenging(content: Content, order: list[Ranked]) -> str:
    """Which slices are challenging, and for which cells."""
    clauses = []
    for data_slice in content.slices:
        cells = [
            ranked.name
            for ranked in order
            if (found := data_slice.cells.get(ranked.cell.id)) and found.challenging
        ]
        if cells:
            every = len(cells) == len(order)
            clauses.append(f"{data_slice.name} for {'every cell' if every else '; '.join(cells)}")
    if not clauses:
        return "Challenging slices: none is shown to score below the rest of the examples."
    return f"Challenging slices, whose score is below that of the rest: {', '.join(clauses)}."


def _table(content: Content, order: list[Ranked]) -> Table:
    columns = [
        "cell",
        "all",
        *(f"{data_slice.name} ({data_slice.examples:,})" for data_slice in content.slices),
    ]
    rows = [
        [
            field_of(ranked.name),
            field_of(words.score(ranked.cell.results.mean)),
            *([_entry(data_slice.cells.get(ranked.cell.id))] for data_slice in content.slices),
        ]
        for ranked in order
    ]
    seed = content.seed
    caption = (
        f"Score × 100 on all of {visible(content.scored_on)} and on each slice (its examples), "
        f"means over the {seed}s that trained; {100 * LEVEL:.0f} % intervals over {seed}s and test "
        "items. Challenging: below the rest, which is in brackets"
    )
    return Table(caption, columns, rows)


def _entry(result: SliceScore | None) -> Entry:
    if result is None or result.score is None:
        return Entry(words.NOTHING, "undefined")
    notes = []
    if result.interval is not None:
        low, high = result.interval
        notes.append(f"{words.score(low)} to {words.score(high)}")
    if result.challenging:
        p = words.probability(result.p_holm)
        notes.append(f"challenging (rest {words.score(result.rest)}, p {p})")
    return Entry(words.score(result.score), "; ".join(notes), strong=result.challenging)


def _rule(data_slice: DataSlice) -> str:
    text = (
        f"{data_slice.name}, {counted(data_slice.examples, 'example')}: {visible(data_slice.rule)}."
    )
    if data_slice.errors_of is not None:
        text += (
            " Errors of that run chose it, so that runs like it score low by construction: it is "
            "not tested."
        )
    return text


def _notes(content: Content) -> list[str]:
    tested = sum(
        score.p is not None for data_slice in content.slices for score in data_slice.cells.values()
    )
    level = level_of(content.look)
    tests = f"each slice against the rest, in each cell; Holm's correction over {tested} of them"
    if not level:
        tests += "; no interim analysis is left that may decide"
    else:
        tests += f", level {100 * level:.3g} %"
    few = f"A slice or rest of fewer than {FEWEST_ITEMS} items is not tested."
    return [f"Tests: {tests}. {few}" if tested else f"No tests. {few}"]
