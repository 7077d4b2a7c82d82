"""The forest plot of pooled differences."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tf_adapt.paper import SYMBOLS
from tf_adapt.printing.words import shortened
from tf_adapt.report.figures.drawing import FAINT, INK, WIDTH

_ROW, _HEAD = 0.24, 0.9  # inches
_LONGEST_NAME = 44
_POOLED = "#D55E00"


def forest(result: dict[str, Any]) -> Figure:
    """One panel for each pair of adaptations of an encoder: a line for each data set with the
    interval of its comparison, below them the pooled ones of each family of metrics.

    Args:
        result: of `tf_adapt.analysis.pooling.pooled.pool_comparisons`.
    """
    panels = [(row, _lines(row, result["effects"])) for row in result["pooled"]]
    heights = [_HEAD + _ROW * len(lines) for _, lines in panels]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    grid = figure.add_gridspec(len(panels), 1, height_ratios=heights)
    for number, (row, lines) in enumerate(panels):
        _draw(figure.add_subplot(grid[number]), row, lines)
    return figure


def _lines(row: dict, effects: list[dict]) -> list[tuple[str, float, float, float, bool]]:
    """(name, difference, low, high, whether it is pooled), in points, top to bottom."""
    of_pair = [e for e in effects if all(e[key] == row[key] for key in ("encoder", "a", "b"))]
    lines = []
    for family, pooled in row["families"].items():
        for effect in (e for e in of_pair if e["family"] == family):
            name, middle = f"{effect['dataset']} ({family})", effect["difference"]
            low, high = (abs(bound - middle) for bound in effect["interval"])
            lines.append(_line(name, middle, low, high, False))
        if pooled is not None:
            low, high = (abs(bound - pooled["estimate"]) for bound in pooled["interval"])
            lines.append(_line(f"pooled, {family}", pooled["estimate"], low, high, True))
    return lines


def _line(name: str, middle: float, below: float, above: float, pooled: bool):
    return name, 100 * middle, 100 * below, 100 * above, pooled


def _draw(axes: Axes, row: dict, lines: list) -> None:
    places = range(len(lines))[::-1]
    for place, (_, middle, below, above, pooled) in zip(places, lines, strict=True):
        axes.errorbar(
            middle,
            place,
            xerr=[[below], [above]],
            fmt="D" if pooled else "o",
            color=_POOLED if pooled else INK,
            markersize=6 if pooled else 4,
            linewidth=2 if pooled else 1,
            capsize=2,
        )
    axes.axvline(0, color=FAINT, linewidth=1)
    axes.set_yticks(list(places), [shortened(line[0], _LONGEST_NAME) for line in lines])
    axes.set_ylim(-0.7, len(lines) - 0.3)
    axes.set_title(f"{row['encoder']}: {named(row['b'])} − {named(row['a'])}", loc="left")
    axes.set_xlabel("points")


def named(arm: str) -> str:
    """An arm without symbols, which fonts may lack: the name alone."""
    return "".join(character for character in arm if character not in SYMBOLS.values())
