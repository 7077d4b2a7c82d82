"""Writing a report: the figures, `report.md`, `report.html`, and last `report.json`."""

import json
from pathlib import Path

from tf_adapt.files import write_bytes, write_text
from tf_adapt.report.cells import ranked
from tf_adapt.report.cost_figure import cost_figure, has_costs
from tf_adapt.report.drawing import Drawing, draw
from tf_adapt.report.html import to_html
from tf_adapt.report.markdown import to_markdown
from tf_adapt.report.panels import curve_figure, weight_figure, with_curves, with_weights
from tf_adapt.report.score_figure import score_figure
from tf_adapt.report.sections import sections, title

FIGURES = ("scores", "costs", "curves", "layer_weights")


def write_report(content: dict, folder: str | Path) -> None:
    """Writes a comparison's report; the same content gives the same bytes.

    Each file is whole or absent. Figures that the content has nothing for are removed, so that
    none of an earlier report stays. `report.json` is written last: where it is, all others are.

    Args:
        content: plain values, as they are in `report.json`; unknown ones are None.
        folder: gets `report.json`, `report.md`, `report.html` and `figures/NAME.svg` and `.png`.

    Raises:
        ValueError: a number of the content is not finite; nothing is written.
        ArtifactError: a file cannot be written.
    """
    folder = Path(folder)
    record = json.dumps(content, indent=1, allow_nan=False) + "\n"
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


def _drawings(content: dict) -> dict[str, Drawing]:
    """The figures that the content has something for."""
    order = ranked(content["cells"])
    found = {"scores": draw(score_figure, order, content)}
    if has_costs(order):
        found["costs"] = draw(cost_figure, order, content)
    if with_curves(order):
        found["curves"] = draw(curve_figure, order, content)
    if with_weights(order):
        found["layer_weights"] = draw(weight_figure, order)
    return found
