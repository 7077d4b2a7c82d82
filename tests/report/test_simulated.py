"""V4: verdicts on simulated answers, in the words that a reader meets first."""

import re

import pytest
import simulated_comparisons as simulated

from tf_adapt.report.lines import to_lines
from tf_adapt.report.markdown import escaped, to_markdown
from tf_adapt.report.paper_table import paper_table
from tf_adapt.report.sections import sections
from tf_adapt.report.verdict_blocks import verdict_blocks

# By comparison: is it decided, what the headline says, what stands behind it, what is coloured.
EXPECTED = {
    "untrained_ahead": (
        False,
        ["untrained network is ahead", "bert_small untrained", "80.0 ± 1.0"],
        ["best pretrained cell is bert_small with fine_tuning (linear head) at 66.0 ± 1.0"],
        ["tune"],
    ),
    "random_labels": (
        False,
        ["No cell", "above the baseline", "40.0", "(4 seeds failed)"],
        ["'yes'", "failed in 1 of 3", "failed in 3 of 3"],
        [],
    ),
    "diverged_seed": (
        False,
        ["Not decided", "seeds failed", "84.4 ± 0.4"],
        ["diverged in 1 of 5 seeds", "84.4 without", "75.5 with", "of which no seed failed"],
        [],  # better where it trains is no reason to tune what may not train
    ),
    "two_alike": (
        True,
        ["Use bert_small with feature_extraction", "alike", "fewest trained parameters"],
        ["bert_small with fine_tuning (linear head) is alike"],
        [],
    ),
    "unstable": (
        False,
        ["Not decided", "82.5 ± 12.5", "not shown to be ahead"],
        ["51.0 ± 1.0", "seeds in all would probably decide"],
        [],
    ),
    "joint_and_separate": (
        True,
        ["Use bert_small with fine_tuning", "ahead of every other"],
        ["+16.0 points"],
        ["tune", "freeze"],
    ),
    "one_seed": (False, ["Not decided", "one seed"], ["need 3 seeds"], []),
    "bit_for_bit": (False, ["Not decided", "same answers"], ["check what is to differ"], []),
    "five_items": (False, ["Not decided", "5 pairs"], ["at least 20 items"], []),
}


@pytest.fixture(scope="module")
def found():
    return {plan.__name__: plan() for plan in simulated.ALL}


def test_every_comparison_has_its_expectation(found):
    assert list(found) == list(EXPECTED)


def test_the_headline_says_what_stands_in_the_way(found):
    for name in EXPECTED:
        content = found[name]
        decided, said, behind, tones = EXPECTED[name]
        verdict = content.verdict
        assert verdict.decided == decided
        for words in said:
            assert words in verdict.sentence
        # One sentence, in two lines of a page of 1,200 pixels.
        assert len(verdict.sentence) <= 160
        assert not re.search(r"[.:?] [A-Z]|\. ", verdict.sentence)
        lines = "\n".join(to_lines(verdict_blocks(content)))
        text = to_markdown(sections(content))
        for words in behind:
            assert words.lower() in lines.lower()
            assert escaped(words).lower() in text.lower()
        state, _, headline, *_ = text.split("\n")
        assert state.endswith("— decided" if decided else "— not decided")
        assert headline == f"# {verdict.sentence}"
        found_tones = re.findall(r"(🔴|🔵) \*\*[^|]*\((?:[^|]*)(tune|freeze): 🔥", text)
        assert found_tones == [({"tune": "🔴", "freeze": "🔵"}[tone], tone) for tone in tones]


def test_scores_are_those_that_the_case_is_about(found):
    cold, hot = (cell.results for cell in found["unstable"].cells)
    assert (hot.mean, cold.mean) == pytest.approx((0.825, 0.51), abs=1e-3)
    assert (hot.deviation, cold.deviation) == pytest.approx((0.125, 0.01), abs=1e-3)
    (pair,) = found["unstable"].pairs
    assert (pair.why, pair.decided) == ("more_seeds", False)
    (pair,) = found["bit_for_bit"].pairs
    assert pair.why == "identical"
    (pair,) = found["five_items"].pairs
    assert pair.why == "few_items"


def test_the_rows_of_a_joint_and_a_separate_bert(found):
    rows = paper_table(found["joint_and_separate"]).rows
    assert [row[0][0].text for row in rows] == [
        "bert_small",
        "bert_small, separate texts",
        "baseline",
    ]
    assert [entries[0].tone for entries in rows[0][1:]] == [None, "tune"]
    assert [entries[0].tone for entries in rows[1][1:]] == ["freeze", None]
