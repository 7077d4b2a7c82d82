"""The figure of a search: the expected best score against the number of trials."""

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tf_adapt.printing import words
from tf_adapt.report.cells import Ranked
from tf_adapt.report.content import Content
from tf_adapt.report.figures.drawing import WIDTH, colour_of
from tf_adapt.report.figures.examples_figure import LINE, STYLES

AXES, MARGIN = 2.3, 0.62  # inches


def search_figure(order: list[Ranked], content: Content) -> Figure:
    """A line for each cell; cells of one colour differ in line style."""
    shown = [entry for entry in order if content.search.cells[entry.cell.id].expected_best]
    listed = LINE * len(shown) + 0.08
    height = AXES + MARGIN + listed
    figure = Figure((WIDTH, height))
    axes = figure.add_axes((0.135, (listed + 0.5) / height, 0.845, AXES / height))
    lines, colours = [], [colour_of(entry.cell.adaptation) for entry in shown]
    for place, (entry, colour) in enumerate(zip(shown, colours, strict=True)):
        expected = content.search.cells[entry.cell.id].expected_best
        style = STYLES[colours[:place].count(colour) % len(STYLES)]
        lines += axes.plot(
            range(1, len(expected) + 1),
            [100 * score for score in expected],
            color=colour,
            linestyle=style,
            linewidth=1.4,
            label=entry.fitted(80),
        )
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True, min_n_ticks=1))
    axes.margins(x=0.03, y=0.06)
    axes.grid()
    axes.set_xlabel("trials")
    metric = words.metric_name(content.metric)
    axes.set_ylabel(f"{metric} × 100 on {words.visible(content.chosen_on)}")
    figure.legend(handles=lines, loc="lower left", frameon=False, fontsize=8, handlelength=3.2,
                  labelspacing=0.3, borderaxespad=0.2)  # fmt: skip
    return figure
