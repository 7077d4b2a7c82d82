"""What a report says of a search."""

import re

import report_contents as contents

from tf_adapt.report.cells import ranked
from tf_adapt.report.markdown import to_markdown
from tf_adapt.report.search.section import search_section
from tf_adapt.report.sections import sections


def text_of(content) -> str:
    return to_markdown(search_section(content, ranked(content.cells))).replace("\\", "")


def test_budget_gain_importance_and_every_trial():
    text = text_of(contents.with_search(contents.one_cell()))
    assert "by a tree-structured Parzen estimator: 3 trials in each cell, at most 5 minutes" in text
    assert "one below the median of the others after an epoch was ended early" in text
    assert "What the search spent: " in text and "3 trials, 30 seconds" in text
    assert re.search(r"\| cell \| 1 trial \| 2 trials \| 3 trials \|", text)
    assert re.search(r"\| 57\.0 \| 64\.0 \| 71\.0 \|", text)
    assert "| 90 % | 10 % |" in text
    assert "training.learning_rate 0.0003" in text and "trial 0: 71.0" in text
    assert "50.0 (ended early)" in text and "– (diverged)" in text


def test_with_folds_each_has_its_setting():
    text = text_of(contents.with_search(contents.one_cell(), folds=2))
    assert "3 trials in each fold of the first repeat of each cell" in text
    assert "fold 0, trial 0: 71.0" in text and "fold 1, trial 0: 71.0" in text


def test_no_search_no_section():
    content = contents.one_cell()
    assert search_section(content, ranked(content.cells)) == []
    assert "Learning rates" in to_markdown(sections(content))
    assert "Learning rates" not in to_markdown(sections(contents.with_search(content)))
