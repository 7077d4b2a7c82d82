"""The figure of the analysis of domains: divergences, and what they say of a run's accuracy."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tf_adapt.analysis.figures import STYLES, new_figure
from tf_adapt.report.drawing import FAINT, INK

_PANEL = 3.5  # inches: the height of a panel
_SIZE_OF_NUMBERS = 62  # points of type, of all in a row of the matrix


def domain_figure(result: dict) -> Figure:
    """The matrix of divergences; below it, for genres, those of train and dev, with the scores."""
    within, runs = result.get("train_dev"), result.get("accuracies")
    title = "How far apart the corpora are (Jensen–Shannon divergence of their terms)"
    if runs:
        title = "How far apart the genres are, and whether a run's accuracy follows from it"
    rows = 2 if within else 1
    figure = new_figure(rows, title, _PANEL)
    _draw_matrix(figure.add_subplot(rows, 1, 1), result)
    if within:
        axes = figure.add_subplot(rows, 1, 2)
        if runs:
            _draw_scores(axes, result)
        else:
            _draw_within(axes, within)
    return figure


def _draw_matrix(axes: Axes, result: dict) -> None:
    names, matrix = result["corpora"], result["matrix"]
    others = [value for row, values in enumerate(matrix) for value in values[:row]]
    # The zeros of the diagonal would take up the colours: without them, they tell corpora apart.
    lowest, highest = min(others), max(others) + 1e-9
    shown = [
        [None if row == column else value for column, value in enumerate(values)]
        for row, values in enumerate(matrix)
    ]
    axes.imshow(np.array(shown, "float64"), cmap="cividis", vmin=lowest, vmax=highest)
    size = min(9, _SIZE_OF_NUMBERS / len(names))
    for row, values in enumerate(matrix):
        for column, value in enumerate(values):
            is_dark = row != column and value < (lowest + highest) / 2
            text = "0" if row == column else f"{value:.2f}"
            colour = "white" if is_dark else INK
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=size)
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title("divergence (nats, 0 to ln 2 = 0.69)", fontsize=9)


def _draw_within(axes: Axes, within: dict[str, dict]) -> None:
    names = list(within)
    axes.barh(names, [within[name]["divergence"] for name in names], color=STYLES[0][0])
    axes.plot(
        [within[name]["chance"] for name in names],
        names,
        color=STYLES[1][0],
        marker="s",
        linestyle="",
        label="the same texts, parted at random",
    )
    axes.invert_yaxis()
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel("divergence of train and dev (nats)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _draw_scores(axes: Axes, result: dict) -> None:
    within = result["train_dev"]
    places = sorted((within[genre]["divergence"], genre) for genre in within)
    for rank, (place, genre) in enumerate(places):
        axes.axvline(place, color=FAINT, alpha=0.35, zorder=0)
        # Names evenly along the top, a line from each to its place: places may lie close together.
        axes.annotate(
            genre,
            (place, 1.0),
            ((rank + 0.5) / len(places), 1.08),
            xycoords=axes.get_xaxis_transform(),
            textcoords="axes fraction",
            rotation=35,
            rotation_mode="anchor",
            arrowprops={
                "arrowstyle": "-",
                "color": FAINT,
                "alpha": 0.5,
                "relpos": (0, 0),
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
    for number, (name, accuracies) in enumerate(result["accuracies"].items()):
        colour, marker = STYLES[number % len(STYLES)]
        found = result["correlations"][name]
        said = "r undefined"
        if found["pearson"] is not None:
            said = f"r = {found['pearson']:.2f}, p = {found['p_value']:.2f}"
        axes.plot(
            [within[genre]["divergence"] for genre in accuracies],
            list(accuracies.values()),
            color=colour,
            marker=marker,
            linestyle="",
            label=f"{name}: {said}",
        )
    axes.margins(x=0.08, y=0.1)
    axes.set_xlabel("divergence of a genre's train and dev terms (nats)")
    axes.set_ylabel("dev accuracy of the genre")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
