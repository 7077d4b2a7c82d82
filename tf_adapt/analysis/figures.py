"""The figures of the analyses: matplotlib without pyplot, so without global state or a display."""

import io
import textwrap
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from tf_adapt.analysis.mutual_information import FLOOR
from tf_adapt.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers tell apart, each with a marker of its own.
STYLES = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
)
GREY, LIGHT_GREY = "#666666", "#BBBBBB"
_PANEL = (4.4, 3.2)  # inches
_LEAST_BITS = 0.1  # the height of a panel in which there is next to nothing
_PHONE = 5.2  # inches across that a single column needs for its title and legend
_SETTINGS = {
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 12,
    "legend.frameon": False,
    # The same content gives the same file.
    "svg.hashsalt": "tf_adapt",
}


def layer_figure(
    panels: list[dict],
    title: str,
    value: str,
    draw: Callable[["Axes", dict], None],
    y_label: Callable[[dict], str],
) -> "Figure":
    """One panel for each dataset: layers from left to right, one line for each encoder.

    Args:
        panels: as `layers.probe_layers` gives them.
        value: the key of what is drawn of each layer.
        draw: adds what stands beside a panel's lines.
        y_label: of a panel.
    """
    from matplotlib.ticker import MaxNLocator

    columns = min(2, len(panels))
    figure = new_figure(columns, -(-len(panels) // columns), title)
    labels = list(dict.fromkeys(s["label"] for panel in panels for s in panel["series"]))
    handles: dict = {}
    for number, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(-(-len(panels) // columns), columns, number)
        for series in panel["series"]:
            colour, marker = STYLES[labels.index(series["label"]) % len(STYLES)]
            axes.plot(
                [layer["layer"] for layer in series["layers"]],
                [layer[value] for layer in series["layers"]],
                color=colour,
                marker=marker,
                label=series["label"],
            )
        draw(axes, panel)
        examples = ", ".join(f"{count:,} {name}" for name, count in panel["examples"].items())
        # Of a user's own files, whose name is a path, the end.
        name = "/".join(Path(panel["dataset"]).parts[-2:])
        axes.set_title(textwrap.fill(f"{name} ({examples})", 40))
        axes.set_xlabel("layer (0: before the first block)")
        axes.set_ylabel(y_label(panel))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns)
    return figure


def probe_figure(panels: list[dict]) -> "Figure":
    """Figure 1 of the paper: the score of a linear classifier on each layer."""

    def draw(axes: "Axes", panel: dict) -> None:
        constant = panel["constant"]
        axes.axhline(constant, color=GREY, linestyle=":", label="always the same answer")

    names = {"accuracy": "accuracy", "matthews": "Matthews correlation", "pearson": "Pearson's r"}
    title = "How well a linear classifier reads the answer off the mean state of each layer"
    return layer_figure(panels, title, "score", draw, lambda panel: f"dev {names[panel['metric']]}")


def information_figure(panels: list[dict]) -> "Figure":
    """Figure 2 of the paper: mutual information of each layer with the label, and the checks."""

    def draw(axes: "Axes", panel: dict) -> None:
        checks = (
            ("random_labels", "check: random labels", "-"),
            ("random_representations", "check: random states", ":"),
        )
        longest = max(panel["series"], key=lambda series: len(series["layers"]))
        for (key, label, line), colour in zip(checks, (LIGHT_GREY, "black"), strict=True):
            axes.plot(
                [layer["layer"] for layer in longest["layers"]],
                [sum(layer[key]) / len(layer[key]) for layer in longest["layers"]],
                color=colour,
                linestyle=line,
                linewidth=2.5,
                zorder=1,
                label=label,
            )

    title = "What each layer's mean state tells about the label, beside two checks that should be 0"
    figure = layer_figure(panels, title, "bits", draw, lambda panel: "mutual information (bits)")
    for axes, panel in zip(figure.axes, panels, strict=True):
        top = max(axes.get_ylim()[1], _LEAST_BITS)
        axes.set_ylim(-0.04 * top, top)
        found = [layer["bits"] for series in panel["series"] for layer in series["layers"]]
        if max(found) <= FLOOR:
            note = "nothing found:\nevery layer is at the estimator's floor"
            axes.text(0.5, 0.5, note, transform=axes.transAxes, ha="center", va="center")
    return figure


def write_figure(figure: "Figure", folder: Path, name: str) -> None:
    """Writes NAME.svg and NAME.png; the same figure gives the same bytes.

    Raises:
        ArtifactError: they cannot be written.
    """
    import matplotlib

    for form, metadata in (("svg", {"Date": None}), ("png", {})):
        content = io.BytesIO()
        with matplotlib.rc_context(_SETTINGS):
            figure.savefig(content, format=form, metadata=metadata, dpi=150)
        write_bytes(folder / f"{name}.{form}", content.getvalue())


def settings() -> AbstractContextManager:
    """The style in which figures are made, as a context."""
    import matplotlib

    return matplotlib.rc_context(_SETTINGS)


def new_figure(columns: int, rows: int, title: str, height: float = _PANEL[1]) -> "Figure":
    """An empty figure with a title over all panels, wide enough for it."""
    from matplotlib.figure import Figure

    width = max(_PHONE, columns * _PANEL[0])
    figure = Figure(figsize=(width, rows * height + 1.2), layout="constrained")
    figure.suptitle("\n".join(textwrap.wrap(title, int(width * 9))), fontsize=13)
    return figure
