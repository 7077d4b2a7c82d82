"""The scores of each label, and how well probabilities fit: tables and the section of a report."""

from tf_adapt.paper import FROZEN
from tf_adapt.printing import words
from tf_adapt.printing.words import visible
from tf_adapt.report.blocks import Folded, Paragraph, Picture, Section, Table, field_of
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content

MANY_LABELS = 10


def with_reliability(order: list[Ranked]) -> list[Ranked]:
    """The cells of which it is known how well their probabilities fit."""
    return [entry for entry in order if entry.cell.reliability is not None]


def labels_section(content: Content, order: list[Ranked]) -> list[Section]:
    """Precision, recall and F1 of each label: of the best frozen encoder, and of the best other
    cell."""
    known = [entry for entry in order if entry.cell.labels and entry.cell.pretrained]
    frozen = [entry for entry in known if entry.cell.adaptation == FROZEN][:1]
    others = [entry for entry in known if entry.cell.adaptation != FROZEN][:1]
    tables = [_label_table(content, entry) for entry in frozen + others]
    if not tables:
        return []
    many = len(tables[0].rows) > MANY_LABELS
    return [Section("Each label", [Folded("The tables", tables)] if many else tables)]


def _label_table(content: Content, entry: Ranked) -> Table:
    rows = [
        [
            field_of(visible(name)),
            *(field_of(words.score(value)) for value in (of.precision, of.recall, of.f1)),
            field_of(f"{of.support:,}"),
        ]
        for name, of in entry.cell.labels.items()
    ]
    caption = f"{entry.name}: scores × 100 of each label, means over {content.seed}s"
    return Table(caption, ["label", "precision", "recall", "F1", "true in"], rows)


def reliability_section(content: Content, order: list[Ranked]) -> list[Section]:
    """How far the probabilities of each cell are from the shares that come true."""
    shown = with_reliability(order)
    if not shown:
        return []
    rows = [
        [
            field_of(entry.name),
            field_of(
                words.mean_and_deviation(
                    entry.cell.reliability.ece.mean, entry.cell.reliability.ece.deviation
                )
            ),
        ]
        for entry in shown
    ]
    errors = "; ".join(
        f"{entry.name} {words.score(entry.cell.reliability.ece.mean)}" for entry in shown
    )
    picture = Picture(
        "reliability",
        f"The share of predictions that came true against their probability, of all "
        f"{content.seed}s; below the diagonal a model is too sure of itself. The larger a dot, the "
        "more predictions.",
        f"Expected calibration errors × 100: {errors}",
    )
    text = (
        "The expected calibration error is the mean distance from the diagonal over 15 bins. "
        "`tf-adapt export --calibrate` mends it by a temperature that is chosen on dev."
    )
    table = Table("Expected calibration error × 100", ["cell", "error"], rows)
    return [Section("Can probabilities be trusted", [Paragraph(text), picture, table])]
