"""The section of a report on forgetting: the source task after adaptation, beside score and
distance."""

from tf_adapt.printing import words
from tf_adapt.printing.words import counted
from tf_adapt.report.blocks import Folded, Section, Table, field_of
from tf_adapt.report.cells import Ranked
from tf_adapt.report.scored_cells import Spread

# Names in `tf_adapt.models.language_objectives.OBJECTIVES`, whose module imports TensorFlow.
PREDICTED = {
    "masked_language_model": "masked word pieces",
    "bidirectional_language_model": "next and previous words",
    "causal_language_model": "next word pieces",
    "word_language_model": "next words",
}


def forgetting(order: list[Ranked]) -> list:
    """The blocks of the section; none where no run measured it."""
    order = [entry for entry in order if entry.cell.forgetting is not None]
    if not order:
        return []
    groups = Folded("Distances by layer group", [_distance_table(order)])
    return [Section("What was forgotten", [_loss_table(order), groups])]


def _loss_table(order: list[Ranked]) -> Table:
    columns = ["cell", "score × 100", "loss before", "loss after", "rise", "distance"]
    rows = []
    for entry in order:
        measured = entry.cell.forgetting
        texts = (
            entry.name,
            entry.cell.results.shown,
            f"{measured.before:.4f}",
            _shown(measured.after),
            words.rise(measured.before, measured.after.mean),
            _shown(measured.distances["all"]),
        )
        rows.append([field_of(text) for text in texts])
    asked = {entry.cell.forgetting.task: entry.cell.forgetting for entry in order}
    what = "; ".join(
        f"{measured.targets:,} {PREDICTED[task]} in {counted(measured.texts, 'line')}"
        for task, measured in asked.items()
    )
    caption = (
        f"Loss of the module's own task on held-out text ({what}) with the pretrained weights and "
        "after adaptation; distance from the pretrained weights, relative to their length; means "
        "over the seeds that ended"
    )
    return Table(caption, columns, rows)


def _distance_table(order: list[Ranked]) -> Table:
    names = list(dict.fromkeys(name for entry in order for name in entry.cell.forgetting.distances))
    names = [name for name in names if name != "all"]
    rows = []
    for entry in order:
        distances = entry.cell.forgetting.distances
        shown = [_shown(distances[name]) if name in distances else words.NOTHING for name in names]
        rows.append([field_of(text) for text in (entry.name, *shown)])
    return Table("Relative distance from the pretrained weights", ["cell", *names], rows)


def _shown(spread: Spread) -> str:
    if spread.deviation is None:
        return f"{spread.mean:.4f}"
    return f"{spread.mean:.4f} ± {spread.deviation:.4f}"
