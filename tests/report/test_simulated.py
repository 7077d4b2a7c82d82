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
        ["Use no pretrained encoder yet", "14.0 points ahead"],
        ["untrained network is bert_small untrained with fine_tuning (linear head) at 80.0 ± 1.0"],
        ["tune"],
    ),
    "random_labels": (
        False,
        ["Use none of them", "above the baseline's 40.0", "(4 seeds failed)"],
        ["'yes'", "failed in 1 of 3", "failed in 3 of 3"],
        [],
    ),
    "diverged_seed": (
        False,
        ["for now", "Not decided", "1 of 5 seeds failed", "84.4 accuracy (deviation 0.4 over 4"],
        ["diverged in 1 of 5 seeds", "84.4 without", "75.5 with"],
        [],  # better where it trains is no reason to tune what may not train
    ),
    "two_alike": (
        True,
        ["Use bert_small with feature_extraction", "within a point", "trains 812,345 parameters"],
        ["is alike, within a point, with bert_small with fine_tuning (linear head)"],
        [],
    ),
    "unstable": (
        False,
        ["Not decided: 31.5 points ahead", "82.5 accuracy (deviation 12.5 over 3", "lowest 70.0"],
        ["51.0 ± 1.0", "(`--seeds 5` to `7`), which would probably decide it"],
        [],
    ),
    "joint_and_separate": (
        True,
        ["Use bert_small with fine_tuning", "Decided: 7.0 points ahead of the next best cell"],
        ["+16.0 points"],
        ["tune", "freeze"],
    ),
    "one_seed": (False, ["Not decided", "one seed"], ["need 3 seeds", "4 more seeds"], []),
    "bit_for_bit": (
        False,
        ["Use bert_small with feature_extraction", "the same answers as another cell"],
        ["Take the cheaper"],
        [],
    ),
    "five_items": (False, ["Use none", "5 pairs", "fewer than 20"], ["at least 15 for any"], []),
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
        # Two sentences, in three lines of a page of 1,200 pixels.
        assert len(verdict.sentence) <= 300
        assert len(re.findall(r"[.?] [A-Z]", verdict.sentence)) <= 1
        assert "± " not in verdict.sentence
        lines = to_lines(verdict_blocks(content))
        assert sum(line.startswith("- ") for line in lines) <= 6
        text = to_markdown(sections(content))
        for words in behind:
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
