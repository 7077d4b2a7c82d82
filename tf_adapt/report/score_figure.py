"""The figure of the scores: a lane for each cell, best first, a dot for each seed."""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tf_adapt import words
from tf_adapt.paper import FROZEN, TUNED
from tf_adapt.report.cells import Ranked
from tf_adapt.report.drawing import INK, PAPER, WIDTH, colour_of, marker, numbers

LANE, MARGIN = 0.43, 0.85  # inches
LONGEST_NAME, LONGEST_BOLD_NAME = 54, 48


def score_figure(order: list[Ranked], content: dict) -> Figure:
    """Every seed as a dot, the mean as a line, the deviation as a band behind it.

    Cells without any score have a lane that says so.
    """
    height = LANE * len(order) + MARGIN
    figure = Figure((WIDTH, height))
    axes = figure.add_axes((0.04, 0.8 / height, 0.92, 1 - MARGIN / height))
    for lane, one in enumerate(order):
        _lane(axes, lane, one)
    baseline = content["baseline"]["score"]
    axes.axvline(100 * baseline, color=INK, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0)
    axes.set_ylim(len(order) - 0.35, -0.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.use_sticky_edges = False  # the deviations' bars would end the axis
    axes.margins(x=0.06)
    metric = words.metric_name(content["metric"])
    axes.set_xlabel(f"{metric} × 100 on {words.visible(content['scored_on'])}")
    figure.legend(
        handles=_legend(order),
        loc="lower center",
        ncols=3,
        frameon=False,
        fontsize=8,
        handletextpad=0.2,
        columnspacing=1.0,
        borderaxespad=0.1,
    )
    return figure


def _lane(axes, lane: int, one: Ranked) -> None:
    cell = one.cell
    weight = "bold" if lane == 0 else "normal"
    across = axes.get_yaxis_transform()
    name = one.fitted(LONGEST_NAME if lane else LONGEST_BOLD_NAME)
    known = [value for value in numbers(cell["scores"]) if value == value]
    result = words.mean_and_deviation(cell)
    failed = sum(cell["failed"].values())
    if failed:
        result = f"{result} ({failed} of {words.counted(len(cell['scores']), 'seed')} failed)"
    looks = {"fontsize": 8.5, "fontweight": weight, "va": "center", "transform": across}
    looks["bbox"] = {"facecolor": PAPER, "linewidth": 0, "pad": 1}
    axes.text(0, lane - 0.32, name, ha="left", **looks)
    axes.text(1, lane - 0.32, result, ha="right", **looks)
    place = lane + 0.12
    if not known:
        axes.text(0, place, "no score", fontsize=8, style="italic", va="center",
                  transform=across)  # fmt: skip
    if cell["mean"] is not None:
        mean = 100 * cell["mean"]
        if cell["deviation"]:
            half = 100 * cell["deviation"]
            axes.barh(place, 2 * half, left=mean - half, height=0.3, alpha=0.25,
                      color=colour_of(cell), linewidth=0)  # fmt: skip
        axes.plot([mean, mean], [place - 0.2, place + 0.2], color=INK, linewidth=1.6)
    axes.plot(known, [place] * len(known), linestyle="none", markersize=5.5, **marker(cell))


def _legend(order: list[Ranked]) -> list[Line2D]:
    """One entry for each kind of marker that is there."""
    found = {}
    for one in order:
        name = one.cell["adaptation"]
        group = name if name in (FROZEN, TUNED) else "another adaptation"
        found.setdefault(group, marker(one.cell | {"pretrained": True}))
        if not one.cell["pretrained"]:
            found["untrained (hollow)"] = marker({"adaptation": FROZEN, "pretrained": False})
    lines = [Line2D([], [], linestyle="none", label=name, **look) for name, look in found.items()]
    lines.append(Line2D([], [], color=INK, linewidth=1.6, label="mean"))
    return [*lines, Line2D([], [], color=INK, linestyle=(0, (4, 3)), label="baseline")]
