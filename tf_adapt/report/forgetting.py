"""The section of a report on forgetting: the source task after adaptation, beside score and
distance."""

from tf_adapt.printing import words
from tf_adapt.printing.words import counted
from tf_adapt.report.blocks import Folded, Heading, Table, field_of
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
    order = [one for one in order if one.cell.forgetting is not None]
    if not order:
        return []
    groups = Folded("Distances by layer group", [_distance_table(order)])
    return [Heading("What was forgotten"), _loss_table(order), groups]


def _loss_table(order: list[Ranked]) -> Table:
    columns = ["cell", "score × 100", "loss before", "loss after", "rise", "distance"]
    rows = []
    for one in order:
        found = one.cell.forgetting
        texts = (
            one.name,
            one.cell.results.shown,
            f"{found.before:.4f}",
            _shown(found.after),
            words.rise(found.before, found.after.mean),
            _shown(found.distances["all"]),
        )
        rows.append([field_of(text) for text in texts])
    asked = {one.cell.forgetting.task: one.cell.forgetting for one in order}
    said = "; ".join(
        f"{found.targets:,} {PREDICTED[task]} in {counted(found.texts, 'line')}"
        for task, found in asked.items()
    )
    caption = (
        f"Loss of the module's own task on held-out text ({said}) with the pretrained weights and "
        "after adaptation; distance from the pretrained weights, relative to their length; means "
        "over the seeds that ended"
    )
    return Table(caption, columns, rows)


def _distance_table(order: list[Ranked]) -> Table:
    names = list(dict.fromkeys(name for one in order for name in one.cell.forgetting.distances))
    names = [name for name in names if name != "all"]
    rows = []
    for one in order:
        found = one.cell.forgetting.distances
        shown = [_shown(found[name]) if name in found else words.NOTHING for name in names]
        rows.append([field_of(text) for text in (one.name, *shown)])
    return Table("Relative distance from the pretrained weights", ["cell", *names], rows)


def _shown(found: Spread) -> str:
    if found.deviation is None:
        return f"{found.mean:.4f}"
    return f"{found.mean:.4f} ± {found.deviation:.4f}"
