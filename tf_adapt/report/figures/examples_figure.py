"""The figure of the learning curves: score against the number of training examples."""

import textwrap

from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from tf_adapt.printing import words
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content
from tf_adapt.report.figures.drawing import INK, WIDTH, colour_of, marker
from tf_adapt.report.scored_cells import CurvePoint

AXES, LINE, MARGIN = 2.5, 0.17, 0.62  # inches; LINE: a line of the legend
LONGEST_LINE = 54  # characters in a line of the legend
APART, WIDEST = 0.012, 0.08  # share of the axis: between neighbouring points, and over all cells
STYLES = ("-", (0, (5, 2)), (0, (1.2, 1.5)), (0, (6, 2, 1.2, 2)))
HIDDEN = {"linestyle": "none"}
# The share of the axis that the curves must span; otherwise the baseline is left out.
SMALLEST_SHARE = 0.5
DASHED = {"color": INK, "linewidth": 0.9, "linestyle": (0, (4, 3))}


def examples_figure(order: list[Ranked], content: Content) -> Figure:
    """A line for each cell: the mean over seeds, with ± deviation bars, on a log axis.

    Cells of one colour differ in line style. The legend does not shorten names.
    """
    points = content.learning_curves.points
    names = [_name(entry) for entry in order]
    listed = LINE * sum(name.count("\n") + 1 for name in (*names, "baseline")) + 0.08
    height = AXES + MARGIN + listed
    figure = Figure((WIDTH, height))
    axes = figure.add_axes((0.135, (listed + 0.5) / height, 0.845, AXES / height))
    axes.set_xscale("log")
    sizes = [point.examples for point in points]
    lines, wide = [], (sizes[-1] / sizes[0]) ** min(APART, WIDEST / len(order))
    for place, (entry, name) in enumerate(zip(order, names, strict=True)):
        shift = wide ** (place - (len(order) - 1) / 2)
        lines.append(_line(axes, entry, name, _style(entry, order), points, shift))
    if _is_near(content):
        axes.axhline(100 * content.baseline.score, zorder=0, **DASHED)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_major_formatter(FixedFormatter([f"{size:,}" for size in sizes]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.07, y=0.06)
    axes.grid()
    axes.set_xlabel("training examples")
    metric = words.metric_name(content.metric)
    axes.set_ylabel(f"{metric} × 100 on {words.visible(content.scored_on)}")
    looks = DASHED if _is_near(content) else HIDDEN
    lines.append(Line2D([], [], label=_baseline(content), **looks))
    figure.legend(handles=lines, loc="lower left", frameon=False, fontsize=8, handlelength=3.2,
                  labelspacing=0.3, borderaxespad=0.2)  # fmt: skip
    return figure


def _line(
    axes, entry: Ranked, name: str, style, points: list[CurvePoint], shift: float
) -> ErrorbarContainer:
    results_by_size = [(point.examples, point.cells[entry.cell.id].results) for point in points]
    known = [(size, results) for size, results in results_by_size if results.mean is not None]
    return axes.errorbar(
        [size * shift for size, _ in known],
        [100 * results.mean for _, results in known],
        [100 * (results.deviation or 0) for _, results in known],
        label=name,
        color=colour_of(entry.cell.adaptation),
        linestyle=style,
        linewidth=1.4,
        elinewidth=0.9,
        capsize=2,
        markersize=6,
        **marker(entry.cell.adaptation, entry.cell.pretrained),
    )


def _baseline(content: Content) -> str:
    text = f"baseline {words.score(content.baseline.score)}"
    return text if _is_near(content) else f"{text}, far off"


def _is_near(content: Content) -> bool:
    """Whether the baseline can be drawn without compressing the curves."""
    points, baseline = content.learning_curves.points, content.baseline.score
    means = [cell.results.mean for point in points for cell in point.cells.values()]
    known = [mean for mean in means if mean is not None]
    if not known:
        return True
    whole = max(*known, baseline) - min(*known, baseline)
    return max(known) - min(known) >= SMALLEST_SHARE * whole


def _style(entry: Ranked, order: list[Ranked]):
    alike = [
        other
        for other in order
        if colour_of(other.cell.adaptation) == colour_of(entry.cell.adaptation)
    ]
    return STYLES[alike.index(entry) % len(STYLES)]


def _name(entry: Ranked) -> str:
    return textwrap.fill(f"{entry.number}. {entry.plain}", LONGEST_LINE, subsequent_indent="    ")
