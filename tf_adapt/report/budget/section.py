"""The section of a report on what was screened, and dropped, within the minutes."""

from tf_adapt.printing import words
from tf_adapt.printing.words import counted, visible
from tf_adapt.report.blocks import Entry, Items, Section, Table, field_of
from tf_adapt.report.budget.screened import Screened, ScreenedCell, ScreenedRung
from tf_adapt.report.content import Content


def budget_section(content: Content) -> list[Section]:
    """The section; none without minutes."""
    screened = content.budget
    if screened is None:
        return []
    return [Section("What was screened", [Items(_how(screened, content)), _table(screened)])]


def short(screened: Screened, content: Content) -> str:
    """`3 of 6 cells were dropped by a screening that is not scored (11.2 of 30 minutes)`."""
    cells = counted(len(screened.cells), "cell")
    return (
        f"{len(screened.dropped)} of {cells} were dropped by a screening that is not scored; the "
        f"others have {counted(len(content.seeds), content.seed)} of the {screened.asked} asked "
        f"for, within {screened.seconds / 60:.1f} of {screened.minutes:g} minutes"
    )


def _how(screened: Screened, content: Content) -> list[str]:
    on = "folds of a repeat" if content.folds else f"{visible(content.chosen_on)}, by runs"
    return [
        f"{short(screened, content)}.",
        f"Cells were screened on {on} that no score or test above is of: such scores decide which "
        "cells are scored, and nothing else. A dropped cell may be as good as one that was kept.",
        "Without `--minutes` the same command trains the dropped cells too, as a further analysis.",
    ]


def _table(screened: Screened) -> Table:
    count = max(len(cell.rungs) for cell in screened.cells)
    rows = []
    for cell in sorted(screened.cells, key=lambda cell: (not cell.scored, -len(cell.rungs))):
        of_rungs = [_rung(rung) for rung in cell.rungs]
        of_rungs += [field_of("")] * (count - len(of_rungs))
        seconds = words.amount(sum(rung.seconds for rung in cell.rungs))
        rows.append([field_of(cell.id), *of_rungs, field_of(seconds), field_of(_end(cell))])
    columns = ["cell", *(f"rung {number + 1}" for number in range(count)), "seconds", "then"]
    return Table(
        "Scores × 100 of the screening, by learning rate", columns, rows, left=(count + 2,)
    )


def _rung(rung: ScreenedRung) -> list[Entry]:
    known = [score for score in rung.scores.values() if score is not None]
    found = [
        Entry(
            _score(score, rate in rung.diverged),
            f"rate {rate}",
            strong=bool(known) and score == max(known),
        )
        for rate, score in rung.scores.items()
    ]
    examples = "all examples" if rung.examples is None else counted(rung.examples, "example")
    return [*found, Entry(f"{counted(rung.epochs, 'epoch')}, {examples}")]


def _score(score: float | None, diverged: bool) -> str:
    if score is None:
        return "diverged" if diverged else "undefined"
    return words.score(score)


def _end(cell: ScreenedCell) -> str:
    return f"{'scored' if cell.scored else 'dropped'}: {cell.why}"
