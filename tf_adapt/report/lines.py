"""Blocks as lines for a terminal: a verdict and its evidence."""

from pathlib import Path

from tf_adapt.report import blocks
from tf_adapt.report.cells import ranked
from tf_adapt.report.content import Content
from tf_adapt.report.diagnosis.section import diagnosis_lines
from tf_adapt.report.examples import label_errors_in_words
from tf_adapt.report.slices import challenging
from tf_adapt.report.verdict_blocks import verdict_blocks

SQUARES = 24


def comparison_lines(content: Content, folder: str | Path) -> list[str]:
    """The verdict of a comparison, and the path of its report."""
    lines = to_lines(verdict_blocks(content))
    trained = [entry for entry in ranked(content.cells) if entry.cell.results.trained]
    lines += ["", challenging(content, trained)] if content.slices else []
    if content.answer_files is not None and content.answer_files.label_errors:
        lines += ["", label_errors_in_words(content)]
    by_cell = {one.cell: one for one in content.diagnosis or ()}
    causes = [
        line
        for entry in trained
        if entry.cell.id in by_cell
        for line in diagnosis_lines(by_cell[entry.cell.id], f"{entry.name}: ")
    ]
    lines += ["", *causes] if causes else []
    return [*lines, "", f"report: {Path(folder) / 'report.html'}"]


def to_lines(parts: list) -> list[str]:
    """The texts of banners, paragraphs and lists, with an empty line before each subject."""
    return [line for part in parts for line in WRITERS[type(part)](part)]


def split_line(part: blocks.Split) -> str:
    """`to train on 325 ■■■■■■■■■■■■■■■■■■■■, to choose 36 ■■, scored 40 ■■`."""
    total = max(1, sum(count for _, count in part.parts))
    shown = ", ".join(
        f"{what} {count:,} {'■' * max(1, round(SQUARES * count / total))}"
        for what, count in part.parts
    )
    return f"{shown}; {part.note}" if part.note else shown


def _items(part: blocks.Items) -> list[str]:
    subject = ["", part.subject] if part.subject else []
    return [*subject, *(f"- {text}" for text in part.texts)]


WRITERS = {
    blocks.Items: _items,
    blocks.Paragraph: lambda part: ["", part.text],
    blocks.Split: lambda part: ["", split_line(part), ""],
    blocks.Banner: lambda part: [part.sentence],
}
