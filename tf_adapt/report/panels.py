"""Figures with a small panel for each cell: learning curves, and learned weights of layers."""

import math

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tf_adapt.report import words
from tf_adapt.report.cells import Ranked
from tf_adapt.report.drawing import FAINT, INK, WIDTH, marker, numbers

COLUMNS, PANEL, MARGIN = 2, 1.35, 0.45  # panels, inches
LONGEST_LINE = 27


def with_curves(order: list[Ranked]) -> list[Ranked]:
    """The cells that have a score after some epoch."""
    return [one for one in order if _curves(one)]


def with_weights(order: list[Ranked]) -> list[Ranked]:
    """The cells that learned a mix of layers."""
    return [one for one in order if one.cell["layer_weights"]]


def curve_figure(order: list[Ranked], content: dict) -> Figure:
    """Score after each epoch, a line a seed; the other cells' means lie faint behind."""
    shown = with_curves(order)
    figure, panels = _panels(shown)
    means = [_mean_curve(_curves(one)) for one in shown]
    lowest, highest = _limits([curve for one in shown for curve in _curves(one)])
    longest = max(len(mean) for mean in means)
    for place, (axes, one) in enumerate(zip(panels, shown, strict=True)):
        for mean in means[:place] + means[place + 1 :]:
            axes.plot(range(1, len(mean) + 1), mean, color=FAINT, alpha=0.35, linewidth=0.7)
        look = marker(one.cell)
        for curve in _curves(one):
            axes.plot(range(1, len(curve) + 1), curve, color=look["markeredgecolor"],
                      linewidth=1.3, markersize=3, **look)  # fmt: skip
        axes.set_xlim(0.7, longest + 0.3)
        axes.set_ylim(lowest, highest)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.grid()
    metric = words.metric_name(content["metric"])
    figure.supxlabel(f"epoch → {metric} × 100 on {words.visible(content['chosen_on'])}", fontsize=9)
    return figure


def weight_figure(order: list[Ranked]) -> Figure:
    """A bar for each layer, bottom layer left; the dashed line is an equal mix."""
    shown = with_weights(order)
    figure, panels = _panels(shown)
    top = max(max(one.cell["layer_weights"]) for one in shown)
    for axes, one in zip(panels, shown, strict=True):
        weights = one.cell["layer_weights"]
        bars = axes.bar(range(len(weights)), weights, color=marker(one.cell)["markeredgecolor"],
                        width=0.7)  # fmt: skip
        axes.axhline(1 / len(weights), color=INK, linewidth=0.9, linestyle=(0, (3, 3)))
        if len(weights) <= 8:
            axes.bar_label(bars, [f"{weight:.2f}" for weight in weights], fontsize=7, padding=1)
        axes.set_ylim(0, 1.2 * top)
        axes.xaxis.set_major_locator(MaxNLocator(13, integer=True))
        axes.set_xlim(-0.6, len(weights) - 0.4)
        axes.yaxis.set_major_locator(MaxNLocator(3))
    figure.supxlabel("layer, 0 the lowest → weight; dashed: all alike", fontsize=9)
    return figure


def _panels(shown: list[Ranked]) -> tuple[Figure, list]:
    rows = math.ceil(len(shown) / COLUMNS)
    figure = Figure((WIDTH, rows * PANEL + MARGIN), layout="constrained")
    grid = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    for axes, one in zip(grid, shown, strict=False):
        axes.set_title(_two_lines(f"{one.number}. {one.plain}"), fontsize=7.5, loc="left")
        axes.tick_params(labelsize=7)
    return figure, list(grid[: len(shown)])


def _two_lines(name: str) -> str:
    """The encoder over the rest, each cut to the width of a panel."""
    first, _, second = name.partition(" · ")
    return "\n".join(words.shortened(part, LONGEST_LINE) for part in (first, second) if part)


def _curves(one: Ranked) -> list[list[float]]:
    """Scores × 100 of each seed that has any."""
    found = [numbers(curve or []) for curve in one.cell["curves"] or []]
    return [curve for curve in found if any(value == value for value in curve)]


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
