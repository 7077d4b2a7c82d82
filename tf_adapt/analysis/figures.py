"""The figures of the analyses of layers, and the common parts of all figures of analyses."""

import math
import textwrap
from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tf_adapt.analysis.mutual_information import FLOOR
from tf_adapt.report.figures.drawing import FAINT, INK, WIDTH

# Okabe and Ito's palette for colour-blind readers, each colour with its own marker.
STYLES = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
)
_PANEL, _LINE, _MARGIN = 2.4, 0.19, 0.6  # inches: heights of a panel, a legend line, the title
_LONGEST_LINE, _LONGEST_NAME = 56, 28
_LEAST_BITS = 0.1  # smallest upper limit of a panel's y axis


def layer_figure(
    panels: list[dict],
    title: str,
    value: str,
    draw: Callable[[Axes, dict], None],
    y_label: Callable[[dict], str],
) -> Figure:
    """One panel for each dataset: layers from left to right, one line for each encoder.

    Args:
        panels: the result of `layers.probe_layers` or `layers.inform_layers`.
        value: the key of a layer's value to plot.
        draw: adds reference lines to a panel.
        y_label: the label of a panel's y axis.
    """
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = new_figure(rows, title)
    labels = list(dict.fromkeys(s["label"] for panel in panels for s in panel["series"]))
    handles: dict = {}
    for number, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, columns, number)
        for series in panel["series"]:
            colour, marker = STYLES[labels.index(series["label"]) % len(STYLES)]
            axes.plot(
                [layer["layer"] for layer in series["layers"]],
                [layer[value] for layer in series["layers"]],
                color=colour,
                marker=marker,
                markersize=4,
                label=series["label"],
            )
        draw(axes, panel)
        examples = ", ".join(f"{count:,} {name}" for name, count in panel["examples"].items())
        axes.set_title(f"{_end(panel['dataset'])}\n({examples})", fontsize=8)
        axes.set_xlabel("layer")
        axes.set_ylabel(y_label(panel))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    ncols = 2 if max(map(len, handles)) <= _LONGEST_NAME else 1
    figure.set_figheight(figure.get_figheight() + _LINE * math.ceil(len(handles) / ncols))
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=ncols,
        title="layer 0: before the first block",
    )
    return figure


def probe_figure(panels: list[dict]) -> Figure:
    """Figure 1 of the paper: the score of a linear classifier on each layer."""

    def draw(axes: Axes, panel: dict) -> None:
        constant = panel["constant"]
        axes.axhline(constant, color=INK, linestyle=":", label="always the same answer")

    names = {"accuracy": "accuracy", "matthews": "Matthews correlation", "pearson": "Pearson's r"}
    title = "How well a linear classifier reads the answer off the mean state of each layer"
    return layer_figure(panels, title, "score", draw, lambda panel: f"dev {names[panel['metric']]}")


def information_figure(panels: list[dict]) -> Figure:
    """Figure 2 of the paper: mutual information of each layer with the label, and two checks."""

    def draw(axes: Axes, panel: dict) -> None:
        checks = (
            ("random_labels", "check: random labels", "-"),
            ("random_representations", "check: random states", ":"),
        )
        longest = max(panel["series"], key=lambda series: len(series["layers"]))
        for (key, label, line), colour in zip(checks, (FAINT, INK), strict=True):
            axes.plot(
                [layer["layer"] for layer in longest["layers"]],
                [sum(layer[key]) / len(layer[key]) for layer in longest["layers"]],
                color=colour,
                linestyle=line,
                linewidth=2,
                zorder=1,
                label=label,
            )

    title = "What each layer's mean state tells about the label, beside two checks that should be 0"
    figure = layer_figure(panels, title, "bits", draw, lambda panel: "mutual information (bits)")
    for axes, panel in zip(figure.axes, panels, strict=True):
        top = max(axes.get_ylim()[1], _LEAST_BITS)
        axes.set_ylim(-0.04 * top, top)
        bits = [layer["bits"] for series in panel["series"] for layer in series["layers"]]
        if max(bits) <= FLOOR:
            note = "nothing found:\nevery layer is at\nthe estimator's floor"
            axes.text(0.5, 0.5, note, transform=axes.transAxes, ha="center", va="center")
    return figure


def new_figure(rows: int, title: str, height: float = _PANEL) -> Figure:
    """An empty figure with a title over all panels."""
    figure = Figure((WIDTH, rows * height + _MARGIN), layout="constrained")
    figure.suptitle(textwrap.fill(title, _LONGEST_LINE), fontsize=10)
    return figure


def _end(name: str) -> str:
    """A dataset's name; for a user's own files, named by path, the end of the path."""
    name = "/".join(Path(name).parts[-2:])
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"
