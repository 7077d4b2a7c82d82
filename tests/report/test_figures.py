import io
import itertools
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import report_contents as contents
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from PIL import Image

from tf_adapt.report import cost_figure, drawing, panels, score_figure
from tf_adapt.report.cells import ranked


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


@pytest.mark.parametrize("paper", [drawing.PAPER, "#15181c"])
@pytest.mark.parametrize("colour", [drawing.BLUE, drawing.RED, drawing.PURPLE])
def test_colours_can_be_seen_on_light_and_dark_paper(colour, paper):
    assert contrast(colour, paper) >= 3


def test_every_seed_is_a_dot_in_the_lane_of_its_cell():
    content = contents.incomplete()
    order = ranked(content["cells"])
    (axes,) = drawn(score_figure.score_figure, order, content).axes
    dots = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert [list(line.get_xdata()) for line in dots] == [
        pytest.approx([65.5, 63.4, 64.9]),
        pytest.approx([65.2]),
        [],
    ]
    lanes = [line.get_ydata()[0] for line in dots[:2]]
    assert [round(lane) for lane in lanes] == [0, 1]
    texts = [text.get_text() for text in axes.texts]
    assert "64.6 ± 1.1" in texts
    assert "1 of 3 seeds" in texts
    assert texts.count("no score yet") == 1
    lowest, highest = axes.get_xlim()
    assert lowest < 63.4
    assert highest > 65.7  # mean and deviation


def test_the_best_cell_is_on_top_and_bold():
    content = contents.complete()
    (axes,) = drawn(score_figure.score_figure, ranked(content["cells"]), content).axes
    bold = [text.get_text() for text in axes.texts if text.get_fontweight() == "bold"]
    assert bold == ["1. bert_small · fine_tuning · linear", "65.1 ± 1.1"]
    assert axes.yaxis_inverted()


def test_untrained_encoders_are_hollow_and_every_adaptation_has_its_shape():
    cell = contents.cell("a", "fine_tuning", (0.5,))
    full, hollow = drawing.marker(cell), drawing.marker(cell | {"pretrained": False})
    assert full["markerfacecolor"] == drawing.RED
    assert (hollow["markerfacecolor"], hollow["markeredgecolor"]) == (drawing.PAPER, drawing.RED)
    names = ("feature_extraction", "fine_tuning", "two_stage")
    assert len({drawing.marker(cell | {"adaptation": name})["marker"] for name in names}) == 3


def test_fastest_first_is_what_no_faster_cell_beats():
    random = np.random.default_rng(0)
    for _ in range(50):
        cells = []
        for number in range(8):
            cell = contents.cell(f"e{number}", "fine_tuning", (random.integers(1, 6) / 10,))
            cell["costs"]["training_seconds"] = int(random.integers(1, 6))
            cells.append(cell)
        found = cost_figure.fastest_first(ranked(cells))
        points = [(one.cell["costs"]["training_seconds"], one.cell["mean"]) for one in found]
        everything = {(cell["costs"]["training_seconds"], cell["mean"]) for cell in cells}
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
    order = ranked(content["cells"])
    figure = drawn(cost_figure.cost_figure, order, content)
    # An annotation's own extent is that of its line, too.
    boxes = [Text.get_window_extent(text) for text in figure.axes[0].texts]
    assert len(boxes) == 30
    for one, other in itertools.combinations(boxes, 2):
        overlap = min(one.x1, other.x1) - max(one.x0, other.x0)
        assert overlap <= 0 or min(one.y1, other.y1) <= max(one.y0, other.y0)


def test_costs_need_two_known_points():
    assert not cost_figure.has_costs(ranked(contents.one_cell()["cells"]))
    assert not cost_figure.has_costs(ranked(contents.incomplete()["cells"]))
    assert cost_figure.has_costs(ranked(contents.complete()["cells"]))


def test_a_curve_has_a_gap_where_a_score_is_not_known():
    content = contents.incomplete()
    figure = drawn(panels.curve_figure, ranked(content["cells"]), content)
    first, second = (axes for axes in figure.axes if axes.get_visible())
    assert len(first.lines) == 3
    (line,) = second.lines
    assert [value for value in line.get_ydata() if not math.isnan(value)] == [50, 61]
    assert list(line.get_xdata()) == [1, 2, 3]


def test_bars_are_the_learned_weights():
    figure = drawn(panels.weight_figure, ranked(contents.complete()["cells"]))
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 3
    assert [bar.get_height() for bar in shown[0].patches] == [0.12, 0.2, 0.31, 0.25, 0.12]
    assert shown[0].lines[0].get_ydata()[0] == 0.2  # an equal mix


def test_figures_are_drawn_in_the_reports_style_and_leave_the_users_alone():
    import matplotlib

    content = contents.one_cell()
    order = ranked(content["cells"])
    plain = drawing.draw(score_figure.score_figure, order, content)
    with matplotlib.rc_context({"font.size": 31, "lines.linewidth": 9}):
        other = drawing.draw(score_figure.score_figure, order, content)
        assert matplotlib.rcParams["font.size"] == 31
    assert other == plain


def test_an_inlined_figure_has_ids_of_its_own_and_the_ink_of_the_page():
    content = contents.complete()
    found = drawing.draw(score_figure.score_figure, ranked(content["cells"]), content)
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
        assert width == pytest.approx(4.8 * 72)
        assert len(np.unique(np.asarray(image))) > 20
