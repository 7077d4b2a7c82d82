from dataclasses import replace

import report_contents as contents

from tf_adapt.report.cells import ranked
from tf_adapt.report.content import Disagreement
from tf_adapt.report.examples import examples


def content_with(**values):
    cells = [
        contents.cell(name, "fine_tuning", (score,))
        for name, score in (("a", 0.1), ("b", 0.2), ("c", 0.3))
    ]
    content = contents.comparison(cells, (0,))
    found = {"where": "f:1", "text_a": "t", "text_b": None, "label": "yes", "right": []}
    return replace(content, disagreements=[Disagreement(**found | values)])


def of(content):
    return examples(content, ranked(content.cells))


def test_cells_are_grouped_by_answer_the_most_frequent_first():
    answers = {"a fine_tuning linear": "no", "b fine_tuning linear": "yes"}
    answers["c fine_tuning linear"] = "no"
    (found,) = of(content_with(answers=answers, right=["b fine_tuning linear"]))
    assert [(answer, right, len(cells)) for answer, right, cells in found.answers] == [
        ("no", False, 2),
        ("yes", True, 1),
    ]
    assert found.answers[0][2][0].startswith("1. c ")  # within an answer the best cell first


def test_cells_without_an_answer_are_left_out():
    (found,) = of(content_with(answers={"b fine_tuning linear": "yes"}))
    assert len(found.answers) == 1
    assert found.texts == [("text", "t")]


def test_long_texts_are_cut_and_it_is_said():
    (found,) = of(content_with(text_a="x" * 5000, text_b="y", answers={}))
    name, text = found.texts[0]
    assert name == "first text"
    assert text == "x" * 600 + "… (5,000 characters, whole in report.json)"
