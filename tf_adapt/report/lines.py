"""Blocks as lines for a terminal: a verdict and its evidence."""

from pathlib import Path

from tf_adapt.report import blocks
from tf_adapt.report.cells import ranked
from tf_adapt.report.content import Content
from tf_adapt.report.slices import challenging
from tf_adapt.report.verdict_blocks import verdict_blocks


def comparison_lines(content: Content, folder: str | Path) -> list[str]:
    """The verdict of a comparison, and the path of its report."""
    lines, curves = to_lines(verdict_blocks(content)), content.learning_curves
    lines += ["", curves.sentence] if curves and curves.sentence else []
    trained = [entry for entry in ranked(content.cells) if entry.cell.results.trained]
    lines += ["", challenging(content, trained)] if content.slices else []
    return [*lines, "", f"report: {Path(folder) / 'report.html'}"]


def to_lines(parts: list) -> list[str]:
    """The texts of banners, paragraphs and lists, with an empty line before each subject."""
    return [line for part in parts for line in WRITERS[type(part)](part)]


def _items(part: blocks.Items) -> list[str]:
    subject = ["", part.subject] if part.subject else []
    return [*subject, *(f"- {text}" for text in part.texts)]


WRITERS = {
    blocks.Items: _items,
    blocks.Paragraph: lambda part: ["", part.text],
    blocks.Banner: lambda part: [part.sentence],
}
