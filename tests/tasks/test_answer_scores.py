"""SQuAD's scores, against a table of its rules by hand."""

import itertools
import random

import pytest

from tf_adapt.tasks.answer_scores import (
    answer_f1,
    answer_scores,
    best_no_answer_threshold,
    exact_match,
    normalized,
)

NORMALIZED = [
    ("The  Cat", "cat"),
    ("a an the", ""),
    ("An apple a day", "apple day"),
    ("theatre, an another", "theatre another"),  # whole words only
    ("U.S.", "us"),
    ("well-known", "wellknown"),
    ("the-cat", "thecat"),  # punctuation goes first
    ("A.", ""),
    ("a.m.", "am"),
    ("“quoted” – it’s", "“quoted” – it’s"),  # not ASCII: it stays
    ("$1,000.50", "100050"),
    ("tab\tand\nbreak\u00a0blank", "tab and break blank"),
    ("ÉCOLE", "école"),
    ("e\u0301cole", "e\u0301cole"),  # composed and decomposed letters differ
    ("İ", "i\u0307"),
    ("中文 the", "中文"),
    ("the’s", "’s"),  # ’ is no letter
    ("", ""),
    ("!?", ""),
]
# answer, gold answers, exact match, F1
SCORED = [
    ("Denver Broncos", ["Denver Broncos"], 1, 1),
    ("the Denver Broncos!", ["denver broncos"], 1, 1),
    ("Broncos", ["Denver Broncos"], 0, 2 / 3),
    ("Carolina", ["Denver Broncos"], 0, 0),
    ("Broncos", ["Denver Broncos", "The Broncos"], 1, 1),  # the best of several
    ("Denver Broncos team", ["Denver", "Broncos team"], 0, 4 / 5),
    ("to to be", ["to be be"], 0, 2 / 3),  # counted as often as both have it
    ("us", ["U.S."], 1, 1),
    ("1,000", ["1000"], 1, 1),
    ("Brontë", ["Bronte"], 0, 0),
    ("", [], 1, 1),
    ("", [""], 1, 1),
    ("Broncos", [], 0, 0),
    ("", ["Denver"], 0, 0),
    ("the", [], 1, 1),  # normalises to nothing
    ("the", ["Denver"], 0, 0),
    ("", ["the", "Denver"], 0, 0),  # gold that normalises to nothing does not count
    ("Denver", ["the", "Denver"], 1, 1),
    ("", ["the", "!"], 1, 1),  # unless all do
]


def test_normalized():
    for text, expected in NORMALIZED:
        assert normalized(text) == expected


def test_scores_by_hand():
    for answer, gold, exact, f1 in SCORED:
        assert exact_match(answer, gold) == exact, (answer, gold)
        assert answer_f1(answer, gold) == pytest.approx(f1, abs=1e-15), (answer, gold)


def test_answer_scores_are_means_over_questions():
    answers, gold, exact, f1 = zip(*SCORED, strict=True)
    found = answer_scores(answers, gold)
    assert found["exact_match"] == pytest.approx(sum(exact) / len(SCORED))
    assert found["f1"] == pytest.approx(sum(f1) / len(SCORED))


@pytest.mark.parametrize(("answers", "gold"), [([], []), (["a"], [["a"], ["b"]])])
def test_answer_scores_refuse_other_numbers(answers, gold):
    with pytest.raises(ValueError, match=r"answers: expected one for each of \d questions"):
        answer_scores(answers, gold)


def test_threshold_is_the_best_of_all():
    draw = random.Random(0)
    for _ in range(200):
        count = draw.randint(1, 6)
        margins = [draw.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]) for _ in range(count)]
        none = [draw.random() < 0.5 for _ in range(count)]
        scores = [0.0 if one else draw.choice([0.0, 0.5, 1.0]) for one in none]

        def score(threshold, margins=margins, none=none, scores=scores):
            rows = zip(margins, none, scores, strict=True)
            return sum(float(one) if m > threshold else s for m, one, s in rows)

        edges = sorted({-10.0, 10.0, 0.0, *margins})
        between = [(a + b) / 2 for a, b in itertools.pairwise(edges)]
        best = max(map(score, [*edges, *between]))
        found = best_no_answer_threshold(margins, scores, none)
        assert score(found) == pytest.approx(best)
        if score(0.0) == pytest.approx(best):
            assert found == 0.0


def test_threshold_of_all_unanswerable_questions_is_below_all_margins():
    assert best_no_answer_threshold([-3.0, -1.0], [0.0, 0.0], [True, True]) < -3
    assert best_no_answer_threshold([3.0, 1.0], [1.0, 1.0], [False, False]) > 3


def test_threshold_refuses_what_is_not_finite():
    with pytest.raises(ValueError, match="margins: expected finite numbers"):
        best_no_answer_threshold([float("nan")], [1.0], [False])
