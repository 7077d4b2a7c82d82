"""The section of a report on score against the number of training examples."""

from tf_adapt.printing import words
from tf_adapt.printing.words import counted, visible
from tf_adapt.report.blocks import Entry, Items, Paragraph, Picture, Section, Table, field_of
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import CurvePoint, LearningCurves, SizedCell

HOW = (
    "The parts of train are drawn anew with each seed, the same for all cells; a larger part holds "
    "the smaller ones. The epoch, and the learning rate where several are tried, are chosen for "
    "each number. All train for as many epochs, so that fewer examples make fewer updates. What is "
    "not decided is not equal. The numbers are tested from the largest down, until one is not "
    "decided."
)


def learning_curves(content: Content, order: list[Ranked]) -> list:
    """The section; none with a single number of examples."""
    curves = content.learning_curves
    if curves is None:
        return []
    points = curves.points
    numbers = ", ".join(f"{point.examples:,}" for point in points)
    items = [*_tests(curves, order), *_lacking(points, len(content.seeds)), HOW]
    blocks = [
        *([Paragraph(visible(curves.sentence))] if curves.sentence else []),
        Picture(
            "examples",
            "Mean over the seeds that trained, ± the deviation, which for parts of train holds the "
            "choice of the examples too; the cells stand a little apart.",
            f"Score against training examples ({numbers}): "
            + "; ".join(entry.name for entry in order),
        ),
        _table(points, order),
        Items(items),
    ]
    return [Section("Learning curves: how many labels tuning needs", blocks)]


def _table(points: list[CurvePoint], order: list[Ranked]) -> Table:
    columns = ["cell", *(counted(point.examples, "example") for point in points)]
    rows = [
        [field_of(entry.name), *([_entry(point.cells[entry.cell.id])] for point in points)]
        for entry in order
    ]
    return Table("Score × 100 by the number of training examples", columns, rows)


def _entry(cell: SizedCell) -> Entry:
    results = cell.results
    failed = results.failed.total
    note = f"{failed} of {len(results.scores)} failed" if failed else ""
    return Entry(results.shown, note)


def _tests(curves: LearningCurves, order: list[Ranked]) -> list[str]:
    """`300 examples: B against A, the best of each kind: +2.1 points, p 0.012 after …: decided.`"""
    names = {entry.cell.id: entry.name for entry in order}
    items = []
    for point in curves.points:
        if point.tuned is None or point.frozen is None:
            continue
        decision = "not tested"
        if point.p_in_order is not None:
            decided = "decided" if point.ahead else "not decided"
            decision = f"p {words.probability(point.p_in_order)}: {decided}"
        gain = words.signed_points(point.difference)
        if point.interval is not None:
            gain += f" ({words.interval(point.interval)})"
        items.append(
            f"{counted(point.examples, 'example')}, best tuned against best frozen: "
            f"{names[point.tuned]} against {names[point.frozen]}, "
            f"{gain} points, {decision}."
        )
    return items


def _lacking(points: list[CurvePoint], seeds: int) -> list[str]:
    return [
        f"With {counted(point.examples, 'example')} the parts of "
        f"{point.lacking.seeds} of {counted(seeds, 'seed')} lack labels of train: "
        f"{', '.join(visible(label) for label in point.lacking.labels)}."
        for point in points
        if point.lacking.seeds
    ]
