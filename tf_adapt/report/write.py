"""Writes a report: figures, `report.md`, `report.html`, and last `report.json`."""

import json
from pathlib import Path

from hub_modules.storage.files import write_bytes, write_text
from tf_adapt.report.cells import ranked
from tf_adapt.report.content import Content, to_json
from tf_adapt.report.figures.cost_figure import cost_figure, has_costs
from tf_adapt.report.figures.drawing import Drawing, draw
from tf_adapt.report.figures.examples_figure import examples_figure
from tf_adapt.report.figures.panels import (
    curve_figure,
    reliability_figure,
    weight_figure,
    with_curves,
    with_weights,
)
from tf_adapt.report.figures.score_figure import score_figure
from tf_adapt.report.figures.search_figure import search_figure
from tf_adapt.report.html import to_html
from tf_adapt.report.labels import with_reliability
from tf_adapt.report.markdown import to_markdown
from tf_adapt.report.sections import sections
from tf_adapt.report.verdict_blocks import title

FIGURES = ("scores", "examples", "costs", "curves", "layer_weights", "reliability", "search")


def write_report(content: Content, folder: str | Path) -> None:
    """Writes a comparison's report; the same content gives the same bytes.

    Each file is written atomically. Figures without content are removed, so that none of an earlier
    report remains. `report.json` is written last: if it exists, so do all others.

    Args:
        folder: for `report.json`, `report.md`, `report.html`, `figures/NAME.svg` and `.png`.

    Raises:
        ValueError: a number in the content is not finite; nothing is written.
        ArtifactError: a file cannot be written.
    """
    folder = Path(folder)
    record = json.dumps(to_json(content), indent=1, allow_nan=False) + "\n"
    drawings = _drawings(content)
    parts = sections(content)
    for name in FIGURES:
        for ending in ("svg", "png"):
            path = folder / "figures" / f"{name}.{ending}"
            if name in drawings:
                write_bytes(path, getattr(drawings[name], ending))
            else:
                path.unlink(missing_ok=True)
    write_text(folder / "report.md", to_markdown(parts))
    write_text(folder / "report.html", to_html(title(content), parts, drawings))
    write_text(folder / "report.json", record)


def _drawings(content: Content) -> dict[str, Drawing]:
    """The figures, by name; only those with content."""
    order = ranked(content.cells)
    drawings = {"scores": draw(score_figure, order, content)}
    if content.learning_curves is not None:
        drawings["examples"] = draw(examples_figure, order, content)
    if has_costs(order):
        drawings["costs"] = draw(cost_figure, order, content)
    if with_curves(order):
        drawings["curves"] = draw(curve_figure, order, content)
    if with_weights(order):
        drawings["layer_weights"] = draw(weight_figure, order)
    if with_reliability(order):
        drawings["reliability"] = draw(reliability_figure, order)
    if content.search is not None and any(
        cell.expected_best for cell in content.search.cells.values()
    ):
        drawings["search"] = draw(search_figure, order, content)
    return drawings
