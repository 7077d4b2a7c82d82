"""The figure of the scores: a lane for each cell, best first: its seeds, its difference."""

import math

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tf_adapt.paper import FROZEN, TUNED
from tf_adapt.printing import words
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content, ReferenceScores
from tf_adapt.report.figures.drawing import INK, PAPER, WIDTH, colour_of, marker
from tf_adapt.report.scored_cells import ONE_ANSWER, TRAINED, SeedResults
from tf_adapt.statistics.relation import PairTest

LANE, MARGIN, LEGEND = 0.43, 0.53, 0.16  # inches; LEGEND: a row of the legend
LEGEND_COLUMNS = 4
SCORES, BETWEEN_AXES = 0.56, 0.04  # shares of the width
LONGEST_NAME, SHORTEST_NAME = 90, 12
BETWEEN = 6  # points, from a name to its result
DASHED = {"color": INK, "linewidth": 1.0, "linestyle": (0, (4, 3))}
# Of the simple models, of which a kind of task has one, and a line for each encoder.
DOTTED = [
    {"color": INK, "linewidth": 1.2, "linestyle": (0, dashes)}
    for dashes in ((1, 2), (1, 5), (6, 2, 1, 2))
]
CROSS = {"marker": "x", "markeredgewidth": 1.2}
# The share of the axis that the scores must span; otherwise the baseline is left out.
SMALLEST_SHARE = 0.25
ROUNDING = 1e-9


def shows_baseline(order: list[Ranked], content: Content) -> bool:
    """Whether the baseline can be drawn without compressing the scores."""
    return _is_near(content.baseline.score, order)


def shown_references(order: list[Ranked], content: Content) -> list[ReferenceScores]:
    """The simple models that can be drawn without compressing the scores, the best ones first."""
    near = [one for one in content.references if _is_near(one.score, order)]
    return sorted(near, key=lambda one: -one.score)[: len(DOTTED)]


def _is_near(line: float, order: list[Ranked]) -> bool:
    """Whether a line can be drawn without compressing the scores."""
    ends = [end for entry in order for end in _ends(entry.cell.results)]
    if not ends:
        return True
    spread = max(ends) - min(ends)
    whole = max(*ends, line) - min(*ends, line)
    return spread < ROUNDING or spread >= SMALLEST_SHARE * whole


def tests_against_best(order: list[Ranked], content: Content) -> dict[str, PairTest]:
    """The tests of the other cells against the best pretrained one, as cell − best, by id."""
    best = content.verdict.best if content.verdict else None
    best = best or (order[0].cell.id if order else None)
    pairs = [pair for pair in content.pairs if best in (pair.a, pair.b)]
    others = {pair.b if pair.a == best else pair.a: pair for pair in pairs}
    return {name: pair.seen_from(name) for name, pair in others.items() if pair.interval}


def score_figure(order: list[Ranked], content: Content) -> Figure:
    """Every seed as a dot, the mean as a line, the deviation as a band behind it; on the right the
    difference from the best cell with its interval.

    Failed seeds are crosses. The lane of a cell without scores shows `no score`.
    """
    tests = tests_against_best(order, content)
    handles = _legend(order, content)
    below = MARGIN + LEGEND * math.ceil(len(handles) / LEGEND_COLUMNS)
    height = LANE * len(order) + below
    figure = Figure((WIDTH, height))
    bottom, tall = (below - 0.05) / height, 1 - below / height
    axes = figure.add_axes((0.04, bottom, SCORES if tests else 0.92, tall))
    for lane, entry in enumerate(order):
        _lane(axes, lane, entry)
    if shows_baseline(order, content):
        axes.axvline(100 * content.baseline.score, zorder=0, **DASHED)
    for reference, look in zip(shown_references(order, content), DOTTED, strict=False):
        axes.axvline(100 * reference.score, zorder=0, **look)
    axes.set_ylim(len(order) - 0.35, -0.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.use_sticky_edges = False  # else the axis ends at the deviation bars
    axes.margins(x=0.06)
    metric = words.metric_name(content.metric)
    axes.set_xlabel(f"{metric} × 100 on {words.visible(content.scored_on)}")
    if tests:
        left = 0.04 + SCORES + BETWEEN_AXES
        _differences(figure.add_axes((left, bottom, 0.97 - left, tall)), order, tests)
    figure.legend(
        handles=handles,
        loc="lower center",
        ncols=LEGEND_COLUMNS,
        frameon=False,
        fontsize=8,
        handletextpad=0.4,
        columnspacing=1.0,
        borderaxespad=0.1,
    )
    return figure


def _lane(axes, lane: int, entry: Ranked) -> None:
    cell, results, place = entry.cell, entry.cell.results, lane + 0.12
    _name(axes, lane, entry)
    trained, failed = _points(results, TRAINED), _points(results, ONE_ANSWER)
    if not trained and not failed:
        axes.text(0, place, "no score", fontsize=8, style="italic", va="center",
                  **_over_grid(axes))  # fmt: skip
    colour, looks = colour_of(cell.adaptation), marker(cell.adaptation, cell.pretrained)
    if results.mean is not None:
        mean = 100 * results.mean
        if results.deviation:
            half = 100 * results.deviation
            axes.barh(place, 2 * half, left=mean - half, height=0.3, alpha=0.25,
                      color=colour, linewidth=0)  # fmt: skip
        axes.plot([mean, mean], [place - 0.2, place + 0.2], color=INK, linewidth=1.6)
    for points, look in ((failed, CROSS | {"color": colour}), (trained, looks)):
        axes.plot(points, [place] * len(points), linestyle="none", markersize=5.5, **look)


def _differences(axes, order: list[Ranked], tests: dict[str, PairTest]) -> None:
    axes.axvline(0, color=INK, linewidth=1.0)
    for lane, entry in enumerate(order):
        pair = tests.get(entry.cell.id)
        if pair is None:
            continue
        place, colour = lane + 0.12, colour_of(entry.cell.adaptation)
        low, high = (100 * bound for bound in pair.interval)
        axes.plot([low, high], [place, place], color=colour, linewidth=1.6)
        axes.plot([100 * pair.difference], [place], color=colour, marker="|", markersize=9,
                  markeredgewidth=1.6)  # fmt: skip
    axes.set_ylim(len(order) - 0.35, -0.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.margins(x=0.06)
    levels = {f"{100 * pair.level:.4g}" for pair in tests.values()}
    axes.set_xlabel(f"from the best, {' / '.join(sorted(levels))} % interval")


def _name(axes, lane: int, entry: Ranked) -> None:
    """The name on the left, shortened to leave room for the result on the right."""
    result, failed = entry.cell.results.shown, entry.cell.results.failed.total
    if failed:
        result = f"{result} ({failed} of {len(entry.cell.results.scores)} failed)"
    looks = {"fontsize": 8.5, "va": "center", **_over_grid(axes)}
    looks["fontweight"] = "bold" if lane == 0 else "normal"
    right = axes.text(1, lane - 0.32, result, ha="right", **looks)
    left = axes.text(0, lane - 0.32, entry.fitted(LONGEST_NAME), ha="left", **looks)
    room = right.get_window_extent().x0 - BETWEEN * axes.figure.dpi / 72
    length = LONGEST_NAME
    while left.get_window_extent().x1 > room and length > SHORTEST_NAME:
        length -= 1
        left.set_text(entry.fitted(length))


def _over_grid(axes) -> dict:
    """Text options: a background that hides the grid; x from 0 to 1 across the axes."""
    box = {"facecolor": PAPER, "linewidth": 0, "pad": 1}
    return {"bbox": box, "transform": axes.get_yaxis_transform()}


def _points(results: SeedResults, outcome: str) -> list[float]:
    """The scores × 100 of the seeds with this outcome."""
    ended = zip(results.scores, results.outcomes, strict=True)
    return [100 * score for score, how in ended if score is not None and how == outcome]


def _ends(results: SeedResults) -> list[float]:
    """The values of a cell that the axis must include: its scores, and mean ± deviation."""
    ends = [score for score in results.scores if score is not None]
    if results.deviation:
        ends += [results.mean - results.deviation, results.mean + results.deviation]
    return ends


def _legend(order: list[Ranked], content: Content) -> list[Line2D]:
    """A legend entry for each kind of marker in the figure, the mean and the baseline."""
    markers = {}
    for entry in order:
        name = entry.cell.adaptation
        group = name if name in (FROZEN, TUNED) else "another adaptation"
        markers.setdefault(group, marker(name, pretrained=True))
        if not entry.cell.pretrained:
            markers["untrained (hollow)"] = marker(FROZEN, pretrained=False)
        if _points(entry.cell.results, ONE_ANSWER):
            markers["a seed that failed"] = {"color": INK, **CROSS}
    lines = [Line2D([], [], linestyle="none", label=name, **look) for name, look in markers.items()]
    lines.append(Line2D([], [], color=INK, linewidth=1.6, label="mean"))
    shown = shown_references(order, content)
    near = {one.name: look for one, look in zip(shown, DOTTED, strict=False)}
    for reference in content.references:
        label = f"{words.visible(reference.name)} {words.score(reference.score)}"
        look = near.get(reference.name)
        lines.append(_far_off(label) if look is None else Line2D([], [], label=label, **look))
    label = f"baseline {words.score(content.baseline.score)}"
    if not shows_baseline(order, content):
        return [*lines, _far_off(label)]
    return [*lines, Line2D([], [], label=label, **DASHED)]


def _far_off(label: str) -> Line2D:
    return Line2D([], [], linestyle="none", label=f"{label}, far off")
