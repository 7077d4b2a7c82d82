"""The figure of the analysis of domains: divergences, and accuracies of runs."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tf_adapt.analysis.figures import STYLES, new_figure
from tf_adapt.printing.words import shortened
from tf_adapt.report.figures.drawing import FAINT, INK

_PANEL = 3.5  # inches: the height of a panel
_SIZE_OF_NUMBERS = 62  # points of type, summed over a row of the matrix
_LONGEST_NAME = 44


def domain_figure(result: dict) -> Figure:
    """Panels from top to bottom: divergence matrix, divergences from references, accuracies."""
    panels: list[Callable[[Axes, dict], None]] = []
    title = "How far apart the corpora are (Jensen–Shannon divergence of their terms)"
    if len(result["corpora"]) > 1:
        panels.append(_draw_matrix)
    if "references" in result:
        panels.append(_draw_references)
        title = "How far the genres are from each other and from the references"
    if "accuracies" in result:
        panels.append(_draw_accuracies)
        title += ", and the accuracy of runs"
    figure = new_figure(len(panels), title, _PANEL)
    for number, draw_panel in enumerate(panels, start=1):
        draw_panel(figure.add_subplot(len(panels), 1, number), result)
    return figure


def _draw_matrix(axes: Axes, result: dict) -> None:
    names, matrix = result["corpora"], result["matrix"]
    others = [value for row, values in enumerate(matrix) for value in values[:row]]
    # The colour scale leaves out the zeros of the diagonal, to resolve differences of corpora.
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


def _draw_references(axes: Axes, result: dict) -> None:
    genres = result["corpora"]
    names = [shortened(reference["name"], _LONGEST_NAME) for reference in result["references"]]
    for number, reference in enumerate(result["references"]):
        colour, marker = STYLES[number % len(STYLES)]
        for key, size in (("divergence", 6), ("own_sample", 3)):
            divergences = {genre: reference["genres"][genre][key] for genre in genres}
            axes.plot(
                [np.nan if value is None else value for value in divergences.values()],
                genres,
                color=colour,
                marker=marker,
                markersize=size,
                markerfacecolor=colour if key == "divergence" else "none",
                linestyle="",
                label=names[number] if key == "divergence" else None,
            )
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.grid(axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel(
        "divergence of a genre from a reference (nats)\n"
        "small and hollow: of a sample of the reference of that size"
    )
    columns = len(names) if len("".join(names)) <= _LONGEST_NAME else 1
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns)


def _draw_accuracies(axes: Axes, result: dict) -> None:
    """Accuracies against the divergence from the last reference (with several: all together).

    Large markers are means, small ones single runs.
    """
    reference = result["references"][-1]
    places = {genre: of_genre["divergence"] for genre, of_genre in reference["genres"].items()}
    _name_genres(axes, places)
    for number, (series, accuracies) in enumerate(result["accuracies"].items()):
        colour, marker = STYLES[number % len(STYLES)]
        runs = [
            (places[genre], accuracy)
            for run in result["runs"]
            if run["series"] == series
            for genre, accuracy in run["accuracy"].items()
        ]
        axes.plot(*zip(*runs, strict=True), color=colour, marker=".", alpha=0.5, linestyle="")
        correlation = reference["correlations"][series]
        label = "r undefined"
        if correlation["pearson"] is not None:
            label = f"r = {correlation['pearson']:.2f}, p = {correlation['p_value']:.2f}"
        axes.plot(
            [places[genre] for genre in accuracies],
            list(accuracies.values()),
            color=colour,
            marker=marker,
            linestyle="",
            label=f"{shortened(series, _LONGEST_NAME)}: {label}",
        )
    axes.margins(x=0.08, y=0.1)
    name = shortened(reference["name"], _LONGEST_NAME)
    axes.set_xlabel(f"divergence of a genre from {name} (nats)")
    axes.set_ylabel("accuracy on the genre (small: runs)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))


def _name_genres(axes: Axes, places: dict[str, float]) -> None:
    for rank, (place, genre) in enumerate(
        sorted((place, genre) for genre, place in places.items())
    ):
        axes.axvline(place, color=FAINT, alpha=0.35, zorder=0)
        # Evenly spaced names on top, with lines to their positions, which may lie close together.
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
