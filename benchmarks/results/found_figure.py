"""The figure of *What we found*: tuned − frozen on each data set, at a glance."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.results.blocks import Contents, tuned_effects
from tf_adapt.analysis.pooling.effects import Effect
from tf_adapt.report.figures.drawing import BLUE, FAINT, RED, WIDTH, draw

FIGURE = "docs/images/what_we_found.svg"
PREFIX = "all"
_ROW, _MARGIN = 0.26, 1.0  # inches


def figure(contents: Contents) -> bytes:
    """The SVG; its bytes depend on the comparisons and on matplotlib's version."""
    return draw(_plot, tuned_effects(contents, PREFIX)).svg


def _plot(effects: Sequence[Effect]) -> Figure:
    """A line for each data set and encoder: red where tuning is decided ahead, blue where freezing
    is, grey where nothing is decided."""
    figure = Figure(figsize=(WIDTH, _MARGIN + _ROW * max(1, len(effects))), layout="constrained")
    axes = figure.add_subplot()
    for place, effect in enumerate(effects):
        _draw(axes, -place, effect)
    axes.axvline(0, color=FAINT, linewidth=1)
    axes.set_yticks(
        [-place for place in range(len(effects))],
        [f"{effect.encoder}: {effect.dataset}" for effect in effects],
    )
    axes.set_xlabel("freezing ahead  ←  points  →  tuning ahead")
    return figure


def _draw(axes: Axes, place: int, effect: Effect) -> None:
    colour = (RED if effect.difference > 0 else BLUE) if effect.decided else FAINT
    low, high = (100 * bound for bound in effect.interval)
    axes.plot([low, high], [place, place], color=colour, linewidth=2)
    axes.plot(100 * effect.difference, place, "o", color=colour, markersize=5)
