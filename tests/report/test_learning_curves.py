"""The section of the learning curves: its sentences, its table and its figure."""

from dataclasses import replace

import matplotlib.style
import pytest
import report_contents as contents

from tf_adapt.report.blocks import Items, Paragraph, Picture, Section, Table
from tf_adapt.report.cells import ranked
from tf_adapt.report.figures import drawing
from tf_adapt.report.figures.examples_figure import STYLES, examples_figure
from tf_adapt.report.learning_curves import HOW, learning_curves
from tf_adapt.report.sections import sections


def section(content):
    return learning_curves(content, ranked(content.cells))


def figure_of(content):
    with matplotlib.style.context(drawing.STYLE, after_reset=True):
        return examples_figure(ranked(content.cells), content)


def test_one_number_of_examples_has_no_section():
    content = contents.one_cell()
    assert section(content) == []
    assert section(replace(contents.complete(), learning_curves=None)) == []


def test_the_section_is_behind_the_scores():
    titles = [b.title for b in sections(contents.complete()) if isinstance(b, Section)]
    assert titles[1:3] == ["Scores", "Learning curves: how many labels tuning needs"]


def test_the_sentence_the_tests_and_how_it_was_done():
    content = contents.complete()
    sentence, picture, table, items = section(content)[0].blocks
    assert isinstance(sentence, Paragraph)
    assert sentence.text == content.learning_curves.sentence
    assert isinstance(picture, Picture)
    assert "(100, 500, 2,000)" in picture.alternative
    first, _, last, *lacking, how = items.texts
    assert first == (
        "100 examples, best tuned against best frozen: 1. bert_small · 🔥 fine_tuning · linear "
        "against 2. elmo_small · ❄ feature_extraction · esim, 0.0 points, p 0.500: not decided."
    )
    assert last.endswith("+2.0 points, p 0.005: decided.")
    assert lacking == [
        "With 100 examples the parts of 2 of 3 seeds lack labels of train: ENTAILMENT.",
        "With 500 examples the parts of 1 of 3 seeds lack labels of train: ENTAILMENT.",
    ]
    assert how == HOW
    assert isinstance(table, Table)
    assert table.columns == ["cell", "100 examples", "500 examples", "2,000 examples"]
    tuned = content.cells[1]
    scores = {row[0][0].text[:2]: row[3][0].text for row in table.rows}
    assert scores["1."] == f"{100 * tuned.results.mean:.1f} ± {100 * tuned.results.deviation:.1f}"


def test_seeds_that_failed_are_counted_and_what_is_untested_is_said():
    content = contents.with_parts_of_train(contents.incomplete())
    frozen = content.cells[2].id
    points = [
        replace(point, frozen=frozen, difference=0.01, p=None, p_in_order=None, interval=None)
        for point in content.learning_curves.points
    ]
    content = replace(content, learning_curves=replace(content.learning_curves, points=points))
    *_, table, items = section(content)[0].blocks
    assert isinstance(items, Items)
    assert items.texts[0].endswith("+1.0 points, not tested.")
    notes = {row[0][0].text[3:]: row[1][0] for row in table.rows}
    failed = next(entry for name, entry in notes.items() if "fine_tuning" in name)
    assert failed.note == "2 of 3 failed"
    assert [entry.text for name, entry in notes.items() if "elmo" in name] == ["–"]


def test_the_legend_has_whole_names_inside_the_figure_and_below_the_axes():
    for name in ["complete", "large"]:
        content = getattr(contents, name)()
        figure = figure_of(content)
        figure.draw_without_rendering()
        (legend,) = figure.legends
        said = ["".join(text.get_text().split()) for text in legend.get_texts()]
        whole = ["".join(f"{one.number}. {one.plain}".split()) for one in ranked(content.cells)]
        assert sorted(said) == sorted([*whole, "baseline56.7"])
        box, axes = legend.get_window_extent(), figure.axes[0].get_tightbbox()
        assert box.y0 >= 0
        assert box.y1 <= axes.y0
        for text in legend.get_texts():
            assert text.get_window_extent().x0 >= 0
            assert text.get_window_extent().x1 <= figure.bbox.x1


def test_points_are_means_and_bars_deviations():
    content = contents.with_parts_of_train(contents.incomplete())
    axes = figure_of(content).axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["100", "500", "2,000"]
    assert axes.get_xscale() == "log"
    lines = {box.get_label(): box.lines for box in axes.containers}
    two_stage = next(box for name, box in lines.items() if "two_stage" in name)
    results = content.cells[1].results
    mean, deviation = 100 * results.mean, 100 * results.deviation
    assert list(two_stage[0].get_ydata()) == pytest.approx([mean - 8, mean - 4, mean])
    (bars,) = two_stage[2]
    low, high = bars.get_segments()[2][:, 1]
    assert (low, high) == pytest.approx((mean - deviation, mean + deviation))
    # Of a cell without any score there is a name alone.
    assert len(next(box for name, box in lines.items() if "elmo" in name)[0].get_xdata()) == 0


def test_cells_of_one_colour_differ_in_the_style_of_their_lines():
    axes = figure_of(contents.complete()).axes[0]
    looks = [(box.lines[0].get_color(), box.lines[0]._unscaled_dash_pattern)
             for box in axes.containers]  # fmt: skip
    assert len(set(map(str, looks))) == len(looks)
    assert len(STYLES) == 4
