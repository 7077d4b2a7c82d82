"""The figure of the costs: score against training time, with the Pareto front."""

import math

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from tf_adapt.printing import words
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content
from tf_adapt.report.figures.drawing import FAINT, WIDTH, marker

AXES, LINE, MARGIN = 3.0, 0.17, 0.72  # inches
LONGEST_NAME = 90
LOG_FROM = 8.0
NEAR = 10.0
# Offsets of a number from its point, in points of type; the first free one is used. Upper left is
# first, since the line of the front never comes from there.
PLACES = [
    (round(radius * math.cos(angle), 1), round(radius * math.sin(angle), 1))
    for radius in (NEAR, 15, 20, 25)
    for angle in map(math.radians, (135, 45, 0, 180, 90, 270, 315, 225))
]


def has_costs(order: list[Ranked]) -> bool:
    """Whether there are at least two points to draw."""
    return len(_known(order)) > 1


def fastest_first(order: list[Ranked]) -> list[Ranked]:
    """The Pareto front: cells that score higher than every faster one, by training time."""
    front = []
    # The sort is stable: of cells with equal time, the better one comes first.
    for entry in sorted(_known(order), key=_seconds):
        if not front or entry.cell.results.mean > front[-1].cell.results.mean:
            front.append(entry)
    return front


def cost_figure(order: list[Ranked], content: Content) -> Figure:
    """Each cell as a numbered point; a line joins `fastest_first`, which is listed below."""
    known, front = _known(order), fastest_first(order)
    listed = LINE * (len(front) + 1)
    height = AXES + MARGIN + listed
    figure = Figure((WIDTH, height))
    axes = figure.add_axes((0.085, (listed + 0.62) / height, 0.885, AXES / height))
    xs = [_seconds(entry) for entry in known]
    ys = [100 * entry.cell.results.mean for entry in known]
    if min(xs) > 0 and max(xs) / min(xs) >= LOG_FROM:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.margins(0.12)
    axes.grid()
    axes.plot([_seconds(entry) for entry in front],
              [100 * entry.cell.results.mean for entry in front],
              color=FAINT, linewidth=1.2, drawstyle="steps-post")  # fmt: skip
    for entry, x, y in zip(known, xs, ys, strict=True):
        looks = marker(entry.cell.adaptation, entry.cell.pretrained)
        axes.plot([x], [y], linestyle="none", markersize=7, **looks)
    axes.set_xlabel("seconds of training")
    axes.set_ylabel(f"{words.metric_name(content.metric)} × 100")
    _number(figure, axes, known, xs, ys)
    lines = [entry.fitted(LONGEST_NAME) for entry in front]
    figure.text(0.03, listed / height, "No faster cell scores higher than:", fontsize=8,
                fontweight="bold", va="top")  # fmt: skip
    for place, line in enumerate(lines, 1):
        figure.text(0.03, (listed - place * LINE) / height, line,
                    fontsize=8, va="top")  # fmt: skip
    return figure


def _known(order: list[Ranked]) -> list[Ranked]:
    return [entry for entry in order if entry.cell.results.trained and _seconds(entry) is not None]


def _seconds(entry: Ranked) -> float | None:
    return entry.cell.costs.training_seconds


def _number(figure: Figure, axes, known: list[Ranked], xs: list[float], ys: list[float]) -> None:
    """Writes each number beside its point, clear of points and other numbers."""
    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(axes.get_ylim())
    unit = 72 / figure.dpi
    taken = [tuple(unit * axes.transData.transform(point)) for point in zip(xs, ys, strict=True)]
    for entry, point, (x, y) in zip(known, zip(xs, ys, strict=True), list(taken), strict=True):
        free = (move for move in PLACES if not _meets(x + move[0], y + move[1], (x, y), taken))
        dx, dy = next(free, PLACES[0])
        taken.append((x + dx, y + dy))
        line = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0}
        axes.annotate(str(entry.number), point, xytext=(dx, dy), textcoords="offset points",
                      fontsize=8, ha="center", va="center",
                      arrowprops=line if math.hypot(dx, dy) > NEAR + 1 else None)  # fmt: skip


def _meets(x: float, y: float, point: tuple, taken: list[tuple]) -> bool:
    return any(abs(x - a) < 10 and abs(y - b) < 8 for a, b in taken if (a, b) != point)
