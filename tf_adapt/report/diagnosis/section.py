"""The section of a report on causes: what was suspected, and what a counter-run made of it."""

from tf_adapt.printing import words
from tf_adapt.printing.words import counted, visible
from tf_adapt.report.blocks import Paragraph, Section, Table, field_of
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content
from tf_adapt.report.diagnosis.causes import Cause, Diagnosis

NOTHING = "No cause was confirmed"


def diagnosis_section(content: Content, order: list[Ranked]) -> list[Section]:
    """The causes of each cell, in the order of the cells; none before a diagnosis."""
    known = {diagnosis.cell: diagnosis for diagnosis in content.diagnosis or ()}
    shown = [(entry.name, known[entry.cell.id]) for entry in order if entry.cell.id in known]
    if not shown:
        return []
    text = (
        "Each suspected cause was removed in a counter-run of one run, which is judged on "
        f"{visible(content.chosen_on)} as that run was, never on the scored examples; a cause is "
        "named where that gains clearly. Counter-runs took "
        f"{counted(round(sum(one.seconds for _, one in shown)), 'second')}."
    )
    named = [line for name, one in shown for line in diagnosis_lines(one, f"{name}: ")]
    rows = [_row(name, one, cause) for name, one in shown for cause in one.causes]
    columns = ["cell", "suspected", "seen", "counter-run", "dev", "instead", "gain", "named"]
    table = Table("Suspected causes; scores × 100", columns, rows, left=(1, 2, 3))
    return [Section("Why", [Paragraph(text), *map(Paragraph, named), *([table] if rows else [])])]


def diagnosis_lines(diagnosis: Diagnosis, prefix: str = "") -> list[str]:
    """A sentence for each cause that is named; or one that none is."""
    if not diagnosis.named:
        suspected = ", ".join(cause.title for cause in diagnosis.causes)
        return [f"{prefix}{NOTHING}; suspected: {suspected or 'none'}."]
    return [f"{prefix}{_sentence(diagnosis, cause)}" for cause in diagnosis.named]


def _sentence(diagnosis: Diagnosis, cause: Cause) -> str:
    title = f"{cause.title[0].upper()}{cause.title[1:]} ({visible(cause.seen)})"
    if cause.after is None:
        return f"{title}."
    return (
        f"{title}: with {_otherwise(cause)} dev has {words.score(cause.after)} instead of "
        f"{words.score(diagnosis.score)}."
    )


def _row(name: str, diagnosis: Diagnosis, cause: Cause) -> list:
    gain = words.NOTHING
    if cause.gain is not None:
        gain = f"{words.signed_points(cause.gain[0])} ({words.interval(cause.gain[1:])})"
    texts = (
        name,
        cause.title,
        visible(cause.seen),
        _otherwise(cause),
        words.score(diagnosis.score),
        words.score(cause.after),
        gain,
        "yes" if cause.named else "no",
    )
    return [field_of(text) for text in texts]


def _otherwise(cause: Cause) -> str:
    return visible(", ".join(cause.otherwise)) or words.NOTHING
