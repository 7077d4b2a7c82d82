"""Figures with a small panel for each cell: scores by epoch, and learned layer weights."""

import math

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tf_adapt.printing import words
from tf_adapt.report.cells import SEPARATOR, Ranked
from tf_adapt.report.content import Content
from tf_adapt.report.figures.drawing import FAINT, INK, WIDTH, colour_of, marker, numbers
from tf_adapt.report.labels import with_reliability

COLUMNS = 3
PANEL, GAP, MARGIN = 1.15, 0.5, 0.22  # inches: a panel, its title, the caption at the bottom
LONGEST_LINE = 29
# Points of curves, each of which takes 100 bytes of a page where it has a marker.
MOST_MARKED = 2000


def with_curves(order: list[Ranked]) -> list[Ranked]:
    """The cells with a score after at least one epoch."""
    return [entry for entry in order if _curves(entry)]


def with_weights(order: list[Ranked]) -> list[Ranked]:
    """The cells with a learned mix of layers."""
    return [entry for entry in order if entry.cell.layer_weights]


def curve_figure(order: list[Ranked], content: Content) -> Figure:
    """Score after each epoch, a line for each seed; the other cells' means faint behind."""
    shown = with_curves(order)
    figure, panels = _panels(shown)
    means = [_mean_curve(_curves(entry)) for entry in shown]
    curves = [curve for entry in shown for curve in _curves(entry)]
    lowest, highest = _limits(curves)
    is_marked = sum(map(len, curves)) <= MOST_MARKED
    longest = max(len(mean) for mean in means)
    for place, (axes, entry) in enumerate(zip(panels, shown, strict=True)):
        others = [list(enumerate(mean, 1)) for mean in means[:place] + means[place + 1 :]]
        axes.add_collection(LineCollection(others, colors=FAINT, alpha=0.35, linewidths=0.7))
        colour = colour_of(entry.cell.adaptation)
        looks = marker(entry.cell.adaptation, entry.cell.pretrained) if is_marked else {}
        for curve in _curves(entry):
            epochs = range(1, len(curve) + 1)
            axes.plot(epochs, curve, color=colour, linewidth=1.3, markersize=3, **looks)
        axes.set_xlim(0.7, longest + 0.3)
        axes.set_ylim(lowest, highest)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.grid()
    metric = words.metric_name(content.metric)
    _describe(figure, f"{metric} × 100 on {words.visible(content.chosen_on)} after each epoch")
    return figure


def weight_figure(order: list[Ranked]) -> Figure:
    """A bar for each layer, bottom layer left; the dashed line is the uniform weight."""
    shown = with_weights(order)
    figure, panels = _panels(shown)
    top = max(max(entry.cell.layer_weights) for entry in shown)
    for axes, entry in zip(panels, shown, strict=True):
        weights = entry.cell.layer_weights
        bars = axes.bar(range(len(weights)), weights, color=colour_of(entry.cell.adaptation),
                        width=0.7)  # fmt: skip
        axes.axhline(1 / len(weights), color=INK, linewidth=0.9, linestyle=(0, (3, 3)))
        if len(weights) <= 8:
            axes.bar_label(bars, [f"{weight:.2f}" for weight in weights], fontsize=8, padding=1)
        axes.set_ylim(0, 1.2 * top)
        axes.xaxis.set_major_locator(MaxNLocator(13, integer=True))
        axes.set_xlim(-0.6, len(weights) - 0.4)
        axes.yaxis.set_major_locator(MaxNLocator(3))
    _describe(figure, "weight of each layer, 0 the lowest; dashed: all alike")
    return figure


def reliability_figure(order: list[Ranked]) -> Figure:
    """The share that came true against the probability, a dot for each bin."""
    shown = with_reliability(order)
    figure, panels = _panels(shown)
    for axes, entry in zip(panels, shown, strict=True):
        found = entry.cell.reliability
        most = max(found.counts)
        axes.plot([0, 1], [0, 1], color=INK, linewidth=0.9, linestyle=(0, (3, 3)))
        axes.plot(found.probabilities, found.shares, color=FAINT, linewidth=0.8)
        axes.scatter(
            found.probabilities,
            found.shares,
            [6 + 44 * count / most for count in found.counts],
            color=colour_of(entry.cell.adaptation),
            zorder=3,
        )
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.03, 1.03)
        axes.grid()
    _describe(figure, "share of predictions that came true, by their probability")
    return figure


def _panels(shown: list[Ranked]) -> tuple[Figure, list]:
    rows = math.ceil(len(shown) / COLUMNS)
    height = rows * (PANEL + GAP) + MARGIN
    figure = Figure((WIDTH, height))
    figure.subplots_adjust(
        left=0.055,
        right=0.985,
        top=1 - GAP / height,
        bottom=(MARGIN + 0.25) / height,
        wspace=0.24,
        hspace=(GAP + 0.25) / (PANEL - 0.25),
    )
    grid = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    for axes, entry in zip(grid, shown, strict=False):
        axes.set_title(_lines(f"{entry.number}. {entry.plain}"), fontsize=8, loc="left", pad=4)
        axes.tick_params(labelsize=8)
    return figure, list(grid[: len(shown)])


def _describe(figure: Figure, text: str) -> None:
    figure.text(0.5, 0.06 / figure.get_figheight(), text, ha="center", va="bottom")


def _lines(name: str) -> str:
    """Encoder, adaptation and head, each on its own line, shortened to the width of a panel."""
    return "\n".join(words.shortened(part, LONGEST_LINE) for part in name.split(SEPARATOR))


def _curves(entry: Ranked) -> list[list[float]]:
    """Scores × 100 by epoch, of each seed that has any."""
    curves = [numbers(curve) for curve in entry.cell.curves]
    return [curve for curve in curves if any(value == value for value in curve)]


def _mean_curve(curves: list[list[float]]) -> list[float]:
    """The mean over the seeds that reached each epoch."""
    means = []
    for epoch in range(max(map(len, curves))):
        values = [curve[epoch] for curve in curves if epoch < len(curve)]
        known = [value for value in values if value == value]
        means.append(sum(known) / len(known) if known else float("nan"))
    return means


def _limits(curves: list[list[float]]) -> tuple[float, float]:
    values = [value for curve in curves for value in curve if value == value]
    margin = 0.06 * (max(values) - min(values)) or 1.0
    return min(values) - margin, max(values) + margin
