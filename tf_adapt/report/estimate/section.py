"""The section of a report on what frozen states told of the labels before training."""

from tf_adapt.printing import words
from tf_adapt.printing.words import metric_name, visible
from tf_adapt.report.blocks import Folded, Paragraph, Section, Table, field_of
from tf_adapt.report.estimate.measures import MEASURES, SCORES, Estimate, LayerEstimate


def estimate_section(estimate: Estimate | None) -> list[Section]:
    """The best layer of each encoder, and all layers; none where nothing was measured."""
    if estimate is None:
        return []
    best = {row.encoder: row for row in reversed(estimate.ranking)}
    first = [row for row in estimate.ranking if best[row.encoder] is row]
    text = (
        f"Measured on the frozen states of {estimate.examples:,} examples of train, without "
        f"training: the best layer of each encoder. A constant answer has "
        f"{words.score(estimate.constant)}."
    )
    blocks = [Paragraph(text), _table("The best layer of each encoder", first, estimate.metric)]
    blocks += [Paragraph(visible(line)) for line in estimate.predicted]
    blocks.append(Folded("Every layer", [_table("All layers", estimate.ranking, estimate.metric)]))
    return [Section("Before training", blocks)]


def _table(caption: str, layers: list[LayerEstimate], metric: str) -> Table:
    rows = [
        [field_of(text) for text in (visible(row.encoder), f"{row.layer}", *_shown(row))]
        for row in layers
    ]
    columns = ["encoder", "layer", *MEASURES.values()]
    return Table(f"{caption}; probe and neighbours: {metric_name(metric)} × 100", columns, rows)


def _shown(row: LayerEstimate) -> list[str]:
    """In the order of `MEASURES`; scores × 100."""
    return [
        words.score(getattr(row, name)) if name in SCORES else _number(getattr(row, name))
        for name in MEASURES
    ]


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
