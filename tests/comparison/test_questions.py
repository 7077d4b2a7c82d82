"""Questions in a comparison: the baseline, the items of the tests, the test itself."""

from types import SimpleNamespace

import numpy as np
import pytest

from tf_adapt.comparison.answers import disagreements
from tf_adapt.comparison.baseline import baseline_of
from tf_adapt.comparison.verdict.phrases import answer_text
from tf_adapt.data.formats import Answers, Record
from tf_adapt.data.gold_answers import right_answers
from tf_adapt.data.splits.groups import item_groups, items_in_words
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.report.paper_table import baseline_text
from tf_adapt.statistics.pairs import compare_pairs
from tf_adapt.statistics.scores import item_statistics, of_groups


def question(number: int, answered: bool = True) -> Record:
    """A question, two for each context."""
    answers = Answers(("Ann",), (0,)) if answered else Answers()
    return Record(f"question {number}?", f"Ann is at place {number // 2}.", answers, f"q{number}")


def splits_of(**examples: list[Record]) -> Splits:
    return Splits("squad", "span_extraction", None, "f1", None, "IOB2", examples)


QUESTIONS = [question(number, number % 4 > 0) for number in range(60)]


def test_the_baseline_says_that_there_is_no_answer():
    splits = splits_of(train=QUESTIONS, dev=QUESTIONS[:8], test=QUESTIONS[1:4])
    found = baseline_of(splits, "f1", "dev", "test")
    assert (found.answer, found.scores) == ("", {"dev": 0.25, "test": 0.0})
    assert answer_text("", "span_extraction") == "saying that no question has an answer"
    assert baseline_text("", "span_extraction") == "always no answer"


def test_questions_about_one_context_are_one_item():
    groups = item_groups(QUESTIONS)
    assert groups.tolist() == [number // 2 for number in range(60)]
    assert "60 pairs in 30 groups" in items_in_words(QUESTIONS, groups)


def test_right_answers_are_exact_matches():
    gold = [("Ann", "An Ann"), (), ("Bo",)]
    said = ["the ann!", "", "Bo Lee"]
    assert right_answers(said, gold, "span_extraction") == [True, True, False]
    assert right_answers(["a", "b"], ["a", "c"], "classification") == [True, False]


def test_an_answer_is_right_where_it_matches_one_of_several():
    answers = Answers(("the Ann", "Ann", "the Ann"), (0, 4, 0))
    splits = splits_of(test=[Record("q?", "the Ann", answers, "q"), question(0, answered=False)])
    cells = [SimpleNamespace(name=name, pretrained=True) for name in ("frozen", "tuned")]
    outcomes = SimpleNamespace(
        comparison=SimpleNamespace(cells=cells),
        final_runs=lambda cell: [SimpleNamespace(folder=cell.name)],
    )
    said = {"frozen": ["Ann at", ""], "tuned": ["ann", "Ann"]}
    first, second = disagreements(outcomes, splits, "test", said)
    assert (first.label, first.right) == ("the Ann | Ann", ["tuned"])
    assert (second.label, second.right) == ("no answer", ["frozen"])
    assert second.answers == {"frozen": "no answer", "tuned": "Ann"}


@pytest.mark.parametrize("metric", ["f1", "exact_match"])
def test_the_test_of_two_cells(metric):
    random, gold = np.random.default_rng(2), [one.label.texts for one in QUESTIONS]
    groups = item_groups(QUESTIONS)

    def runs(share: float) -> np.ndarray:
        said = [
            [g[0] if g and random.random() < share else "place" for g in gold] for _ in range(3)
        ]
        return np.stack([of_groups(item_statistics(metric, one, gold), groups) for one in said])

    (pair,) = compare_pairs(metric, {"good": runs(0.95), "bad": runs(0.1)})
    assert pair.decided and pair.difference > 0.4
    assert -1 <= pair.interval[0] <= pair.interval[1] <= 1
