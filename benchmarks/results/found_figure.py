"""The figure of *What we found*: tuned − frozen on each data set, at a glance."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.results.blocks import (
    Contents,
    config_of,
    data_name,
    tuned_against_frozen,
    tuned_and_frozen,
)
from tf_adapt.report.figures.drawing import BLUE, FAINT, RED, WIDTH, draw
from tf_adapt.statistics.relation import AHEAD, BEHIND, PairTest, relation

FIGURE = "docs/images/what_we_found.svg"
PREFIX = "all"
_ROW, _MARGIN = 0.26, 1.0  # inches


def figure(contents: Contents) -> bytes:
    """The SVG; its bytes depend on the comparisons and on matplotlib's version."""
    both = sorted(tuned_and_frozen(contents, PREFIX), key=lambda one: one[2].encoder)
    names = [f"{tuned.encoder}: {data_name(content.dataset)}" for content, _, tuned in both]
    # Two comparisons of the same are told apart by their configs.
    lines = [
        (
            name if names.count(name) == 1 else f"{name} ({Path(config_of(content)).stem})",
            tuned_against_frozen(content, frozen, tuned),
        )
        for name, (content, frozen, tuned) in zip(names, both, strict=True)
    ]
    return draw(_plot, [(name, pair) for name, pair in lines if pair.interval]).svg


def _plot(lines: Sequence[tuple[str, PairTest]]) -> Figure:
    """A line for each data set and encoder: red where tuning is decided ahead, blue where freezing
    is, grey where nothing is decided."""
    figure = Figure(figsize=(WIDTH, _MARGIN + _ROW * max(1, len(lines))), layout="constrained")
    axes = figure.add_subplot()
    for place, (_, pair) in enumerate(lines):
        _draw(axes, -place, pair)
    axes.axvline(0, color=FAINT, linewidth=1)
    axes.set_yticks([-place for place in range(len(lines))], [name for name, _ in lines])
    axes.set_xlabel("freezing ahead  ←  points  →  tuning ahead")
    return figure


def _draw(axes: Axes, place: int, pair: PairTest) -> None:
    colour = {AHEAD: RED, BEHIND: BLUE}.get(relation(pair, pair.a), FAINT)
    low, high = (100 * bound for bound in pair.interval)
    axes.plot([low, high], [place, place], color=colour, linewidth=2)
    axes.plot(100 * pair.difference, place, "o", color=colour, markersize=5)
