import io
import itertools
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import matplotlib.style
import numpy as np
import pytest
import report_contents as contents
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from PIL import Image

from tf_adapt.report.cells import ranked
from tf_adapt.report.content import ReferenceScores
from tf_adapt.report.figures import cost_figure, drawing, panels, score_figure
from tf_adapt.report.scored_cells import FailedSeeds
from tf_adapt.report.sections import sections


def drawn(plot, *arguments):
    """The figure itself, in the report's style."""
    kept = []
    drawing.draw(lambda: kept.append(plot(*arguments)) or kept[0])
    return kept[0]


def contrast(colour, paper):
    """WCAG 2's contrast ratio."""
    lights = []
    for name in (colour, paper):
        parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(name)]
        lights.append(0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_colours_can_be_seen_on_light_and_dark_paper():
    for paper in (drawing.PAPER, "#15181c"):
        for colour in (drawing.BLUE, drawing.RED, drawing.PURPLE):
            assert contrast(colour, paper) >= 3


def score_axes(content):
    # Not saved: then texts would be measured in another resolution.
    with matplotlib.style.context(drawing.STYLE, after_reset=True):
        figure = score_figure.score_figure(ranked(content.cells), content)
    return figure.axes[0]


def points(axes, marker=None):
    """The points of each lane that has any, top first."""
    lanes = [
        line for line in axes.lines if line.get_linestyle() == "None" and len(line.get_xdata())
    ]
    lanes = [line for line in lanes if (line.get_marker() == "x") == (marker == "x")]
    lanes.sort(key=lambda line: line.get_ydata()[0])
    return [list(line.get_xdata()) for line in lanes]


def dashed(axes):
    return [line for line in axes.lines if line.get_linestyle() == "--"]


def overlap(one, other):
    return one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1


def test_every_seed_is_a_dot_in_the_lane_of_its_cell():
    content = contents.incomplete()
    axes = score_axes(content)
    assert points(axes) == [pytest.approx([65.2]), pytest.approx([65.5, 63.4, 64.9])]
    lanes = [line.get_ydata()[0] for line in axes.lines if len(line.get_xdata()) in (1, 3)]
    assert [round(lane) for lane in lanes] == [0, 1]
    texts = [text.get_text() for text in axes.texts]
    assert "64.6 ± 1.1" in texts
    assert "65.2 (2 of 3 failed)" in texts
    assert "– (3 of 3 failed)" in texts
    assert texts.count("no score") == 1
    lowest, highest = axes.get_xlim()
    assert lowest < 63.4
    assert highest > 65.7  # mean and deviation


def test_a_seed_that_failed_is_a_cross_beside_the_mean_of_the_others():
    content = contents.with_cell(
        contents.complete(),
        1,
        contents.with_results,
        outcomes=["trained", "one_answer", "trained"],
        mean=0.657,
        trained=2,
        failed=FailedSeeds(diverged=0, one_answer=1),
    )
    axes = score_axes(content)
    assert points(axes, "x") == [pytest.approx([64.0])]
    assert points(axes)[0] == pytest.approx([65.2, 66.1])
    assert "65.7 ± 1.1 (1 of 3 failed)" in [text.get_text() for text in axes.texts]
    (legend,) = axes.figure.legends
    assert "a seed that failed" in [text.get_text() for text in legend.get_texts()]
    (legend,) = score_axes(contents.complete()).figure.legends
    assert "a seed that failed" not in [text.get_text() for text in legend.get_texts()]


def test_the_baseline_is_a_dashed_line_through_all_lanes():
    axes = score_axes(contents.complete())
    (line,) = dashed(axes)
    assert list(line.get_xdata()) == pytest.approx([56.7, 56.7])
    assert list(line.get_ydata()) == [0, 1]  # of the axes' height
    lowest, highest = axes.get_xlim()
    assert lowest < 56.7 < highest
    (legend,) = axes.figure.legends
    assert legend.get_texts()[-1].get_text() == "baseline 56.7"


BASELINES = [
    (((0.80, 0.81), (0.84, 0.85)), 0.70, True),  # 5 of 15 points
    (((0.80, 0.81), (0.84, 0.85)), 0.60, False),  # 5 of 25
    (((0.80, 0.81), (0.84, 0.85)), 0.95, True),
    (((0.86, 0.865), (0.87, 0.875)), 0.0, False),
    (((-0.03, 0.02), (0.04, -0.01)), 0.0, True),
    (((-0.30, -0.31), (-0.32, -0.33)), 0.0, False),
    (((0.8, 0.8), (0.8, 0.8)), 0.0, True),
    (((None, None), (None, None)), 0.5, True),
]


def test_a_far_baseline_does_not_press_the_scores_together():
    for scores, baseline, shown in BASELINES:
        cells = [contents.cell(f"e{n}", "fine_tuning", some) for n, some in enumerate(scores)]
        content = contents.comparison(cells, (0, 1))
        content = replace(content, baseline=replace(content.baseline, score=baseline))
        axes = score_axes(content)
        assert len(dashed(axes)) == shown
        known = [100 * score for some in scores for score in some if score is not None]
        lowest, highest = axes.get_xlim()
        assert all(lowest < value < highest for value in known)
        assert (lowest < 100 * baseline < highest) == shown
        if len(set(known)) > 1:
            assert max(known) - min(known) > 0.15 * (highest - lowest)
        label = axes.figure.legends[0].get_texts()[-1].get_text()
        assert label.endswith(", far off") == (not shown)
        (picture,) = [
            block for block in sections(content) if getattr(block, "name", None) == "scores"
        ]
        assert ("dashed, the baseline" in picture.caption) == shown
        assert ("the baseline is far off" in picture.caption) == (not shown)


def test_a_name_and_its_result_do_not_meet():
    content = contents.large()
    for number, cell in enumerate(content.cells[:20]):
        outcomes = list(cell.results.outcomes)
        outcomes[number % 5] = "one_answer"
        content.cells[number] = contents.with_results(
            cell, outcomes=outcomes, failed=replace(cell.results.failed, one_answer=1)
        )
    content.cells.append(contents.cell("W" * 90, "W" * 90, (0.9, 0.91), head="M" * 90))
    content.cells.append(contents.cell("bert", "two_stage", (0.5, 0.6), head="W" * 40))
    axes = score_axes(content)
    names = [text for text in axes.texts if text.get_ha() == "left"]
    results = [text for text in axes.texts if text.get_ha() == "right"]
    assert len(names) == len(results) == 32
    for name, result in zip(names, results, strict=True):
        assert not overlap(name.get_window_extent(), result.get_window_extent())
        assert len(name.get_text()) >= 12
    short = [
        text for text in score_axes(contents.complete()).texts if "two_stage" in text.get_text()
    ]
    assert "…" not in short[0].get_text()


def test_the_legend_is_below_the_axis_however_many_kinds_there_are():
    outcomes = ["trained", "trained", "one_answer"]
    content = contents.with_cell(contents.complete(), 0, contents.with_results, outcomes=outcomes)
    axes = score_axes(content)
    (legend,) = axes.figure.legends
    assert len(legend.get_texts()) == 7
    box = legend.get_window_extent()
    assert not overlap(box, axes.xaxis.label.get_window_extent())
    assert box.y0 >= 0


def test_the_best_cell_is_on_top_and_bold():
    content = contents.complete()
    axes, differences = drawn(score_figure.score_figure, ranked(content.cells), content).axes
    bold = [text.get_text() for text in axes.texts if text.get_fontweight() == "bold"]
    assert sorted(bold) == ["1. bert_small · fine_tuning · linear", "65.1 ± 1.1"]
    assert axes.yaxis_inverted()
    # The zero line, and of each other cell its interval and its difference from the best.
    _, *lines = differences.lines
    assert len(lines) == 2 * (len(content.cells) - 1)
    second = ranked(content.cells)[1].cell.id
    (pair,) = [p for p in content.pairs if {p.a, p.b} == {content.verdict.best, second}]
    low, high = pair.seen_from(second).interval
    assert list(lines[0].get_xdata()) == pytest.approx([100 * low, 100 * high])
    assert high > 0 > low


def test_untrained_encoders_are_hollow_and_every_adaptation_has_its_shape():
    full, hollow = (drawing.marker("fine_tuning", pretrained) for pretrained in (True, False))
    assert full["markerfacecolor"] == drawing.RED
    assert (hollow["markerfacecolor"], hollow["markeredgecolor"]) == (drawing.PAPER, drawing.RED)
    names = ("feature_extraction", "fine_tuning", "two_stage")
    assert len({drawing.marker(name, pretrained=True)["marker"] for name in names}) == 3


def test_fastest_first_is_what_no_faster_cell_beats():
    random = np.random.default_rng(0)
    for _ in range(50):
        cells = []
        for number in range(8):
            cell = contents.cell(f"e{number}", "fine_tuning", (random.integers(1, 6) / 10,))
            costs = replace(cell.costs, training_seconds=int(random.integers(1, 6)))
            cells.append(replace(cell, costs=costs))
        found = cost_figure.fastest_first(ranked(cells))
        points = [(one.cell.costs.training_seconds, one.cell.results.mean) for one in found]
        everything = {(cell.costs.training_seconds, cell.results.mean) for cell in cells}
        unbeaten = [
            (time, score)
            for time, score in everything
            if not any(
                (t <= time and s >= score and (t, s) != (time, score)) for t, s in everything
            )
        ]
        assert points == sorted(unbeaten)


def test_the_numbers_of_thirty_points_do_not_cover_each_other():
    content = contents.large()
    order = ranked(content.cells)
    figure = drawn(cost_figure.cost_figure, order, content)
    # An annotation's own extent is that of its line, too.
    boxes = [Text.get_window_extent(text) for text in figure.axes[0].texts]
    assert len(boxes) == 30
    for one, other in itertools.combinations(boxes, 2):
        overlap = min(one.x1, other.x1) - max(one.x0, other.x0)
        assert overlap <= 0 or min(one.y1, other.y1) <= max(one.y0, other.y0)


def test_costs_need_two_known_points_of_cells_that_trained():
    assert not cost_figure.has_costs(ranked(contents.one_cell().cells))
    cells = contents.incomplete().cells
    assert cost_figure.has_costs(ranked(cells))
    cells[1] = contents.with_results(cells[1], trained=0, outcomes=["one_answer"] * 3)
    assert not cost_figure.has_costs(ranked(cells))
    assert not cost_figure.has_costs(ranked(contents.incomplete().cells[1:]))
    assert cost_figure.has_costs(ranked(contents.complete().cells))


def test_what_no_seed_trained_is_not_among_the_fastest():
    content = contents.complete()
    fastest = content.cells[0].id
    assert fastest in [one.cell.id for one in cost_figure.fastest_first(
        ranked(content.cells))]  # fmt: skip
    changes = {"trained": 0, "outcomes": ["one_answer"] * 3}
    content = contents.with_cell(content, 0, contents.with_results, **changes)
    order = ranked(content.cells)
    assert fastest not in [one.cell.id for one in cost_figure.fastest_first(order)]
    (costs,) = [block for block in sections(content) if getattr(block, "title", None) == "Costs"]
    picture = costs.blocks[0]
    assert "Cells of which no seed trained are not in it." in picture.caption


def test_a_curve_has_a_gap_where_a_score_is_not_known():
    content = contents.incomplete()
    figure = drawn(panels.curve_figure, ranked(content.cells), content)
    first, second = (axes for axes in figure.axes if axes.get_visible())
    assert len(second.lines) == 3
    (line,) = first.lines
    assert [value for value in line.get_ydata() if not math.isnan(value)] == [50, 61]
    assert list(line.get_xdata()) == [1, 2, 3]


def test_bars_are_the_learned_weights():
    figure = drawn(panels.weight_figure, ranked(contents.complete().cells))
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 3
    assert [bar.get_height() for bar in shown[0].patches] == [0.12, 0.2, 0.31, 0.25, 0.12]
    assert shown[0].lines[0].get_ydata()[0] == 0.2  # an equal mix


def test_figures_are_drawn_in_the_reports_style_and_leave_the_users_alone():
    content = contents.one_cell()
    order = ranked(content.cells)
    plain = drawing.draw(score_figure.score_figure, order, content)
    with matplotlib.rc_context({"font.size": 31, "lines.linewidth": 9}):
        other = drawing.draw(score_figure.score_figure, order, content)
        assert matplotlib.rcParams["font.size"] == 31
    assert other == plain


def test_an_inlined_figure_has_ids_of_its_own_and_the_ink_of_the_page():
    content = contents.complete()
    found = drawing.draw(score_figure.score_figure, ranked(content.cells), content)
    inline = found.inline("scores", 'best: "a" < b')
    element = ET.fromstring(inline)
    assert element.get("aria-label") == 'best: "a" < b'
    assert element.get("role") == "img"
    ids = [part.get("id") for part in element.iter() if part.get("id")]
    assert len(ids) == len(set(ids))
    assert all(name.startswith("scores-") for name in ids)
    for reference in re.findall(r'(?:href="|url\()#([^")]+)', inline):
        assert reference in ids
    assert drawing.INK not in inline
    assert drawing.PAPER not in inline
    assert "currentColor" in inline
    assert "<style" not in inline


def test_letters_can_be_read_on_a_phone(reports):
    text = (reports / "complete" / "report.html").read_text("utf-8")
    figures = re.findall(
        r'<svg [^>]*viewBox="0 0 (\S+) [^>]*min-width:(\d+)px(.*?)</svg>', text, re.S
    )
    assert len(figures) == 6
    for width, least, inside in figures:
        sizes = [
            float(size) for size in re.findall(r"(?:font-size:|font:(?: \w+)*) ([\d.]+)px", inside)
        ]
        assert len(sizes) > 5
        assert min(sizes) * int(least) / float(width) >= 10
        assert int(least) < 900  # it shrinks to this on a narrow page, and is as wide as a wide one


def test_dollar_signs_are_no_mathematics(reports):
    svg = (reports / "hostile" / "figures" / "scores.svg").read_text("utf-8")
    texts = [part.text for part in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert any("$a_b$ | <b>" in text for text in texts)


def test_pngs_are_the_pictures_of_the_svgs(reports):
    for path in (reports / "complete" / "figures").glob("*.svg"):
        root = ET.fromstring(path.read_text("utf-8"))
        width, height = (float(root.get(side).removesuffix("pt")) for side in ("width", "height"))
        image = Image.open(io.BytesIO(path.with_suffix(".png").read_bytes()))
        assert image.size == pytest.approx((width / 72 * 160, height / 72 * 160), abs=1)
        assert width == pytest.approx(drawing.WIDTH * 72)
        assert len(np.unique(np.asarray(image))) > 20


def test_simple_models_are_lines_where_they_do_not_compress_the_scores():
    near = ReferenceScores(name="TF-IDF", score=0.64, cells={})
    far = ReferenceScores(name="cosine", score=0.01, cells={})
    content = replace(contents.complete(), references=[near, far])
    order = ranked(content.cells)
    figure = drawn(score_figure.score_figure, order, content)
    lines = {
        line.get_xdata()[0] for axes in figure.axes for line in axes.lines if len(line.get_xdata())
    }
    assert {round(float(x), 6) for x in lines} >= {64.0} and 1.0 not in lines
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"TF-IDF 64.0", "cosine 1.0, far off"} <= set(legend)
