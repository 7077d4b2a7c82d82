"""SQuAD's scores of answers: exact match and F1 of normalised texts. Plain Python.

Source: Rajpurkar et al. 2016, section 6.1; Rajpurkar, Jia and Liang 2018, section 5 (questions
without an answer).
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def normalized(answer: str) -> str:
    """Lower case, without ASCII punctuation and articles, one blank between words.

    Punctuation is deleted, not replaced: `U.S.` becomes `us`. Other punctuation (’ – “) stays.
    """
    kept = answer.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", kept).split())


def exact_match(answer: str, gold: Sequence[str]) -> float:
    """1 if the answer is one of the gold answers after `normalized`, else 0.

    Args:
        answer: "" for no answer.
        gold: none if there is none. Those that normalise to nothing do not count, unless all do.
    """
    return float(normalized(answer) in _normalized_gold(gold))


def answer_f1(answer: str, gold: Sequence[str]) -> float:
    """The highest F1 of the words of the answer against those of a gold answer.

    With w the number of words in common, counted as often as both have them: `2w / (words of the
    answer + words of the gold answer)`. If either has no words: 1 if both have none, else 0.

    Args:
        answer, gold: see `exact_match`.
    """
    return max(_f1(normalized(answer).split(), text.split()) for text in _normalized_gold(gold))


ANSWER_METRICS = {"f1": answer_f1, "exact_match": exact_match}


def answer_scores(answers: Sequence[str], gold: Sequence[Sequence[str]]) -> dict[str, float]:
    """The means of F1 and exact match over all questions, from 0 to 1.

    Args:
        answers: one for each question, "" for no answer.
        gold: the texts of the gold answers of each question.

    Raises:
        ValueError: their numbers differ, or there are none.
    """
    if len(answers) != len(gold) or not len(gold):
        raise ValueError(
            f"answers: expected one for each of {len(gold)} questions (at least one), got "
            f"{len(answers)}"
        )
    pairs = list(zip(answers, gold, strict=True))
    return {
        name: sum(score(*pair) for pair in pairs) / len(pairs)
        for name, score in ANSWER_METRICS.items()
    }


def best_no_answer_threshold(
    margins: Sequence[float], scores: Sequence[float], unanswerable: Sequence[bool]
) -> float:
    """The threshold with the best mean score: above it a question is said to have no answer.

    0 if no other is better; else the midpoint between the two margins that it separates, of equally
    good ones the nearest to 0.

    Args:
        margins: of each question, the score of no answer minus that of its best span.
        scores: of each question, what its best span scores.
        unanswerable: whether the question has no answer.

    Raises:
        ValueError: a margin is not finite.
    """
    if not all(abs(margin) < float("inf") for margin in margins):
        raise ValueError("margins: expected finite numbers, got some that are not")
    # What answering adds to the sum, in the order in which a rising threshold answers.
    gains = sorted(
        (margin, score - is_none)
        for margin, score, is_none in zip(margins, scores, unanswerable, strict=True)
    )
    at_zero = sum(gain for margin, gain in gains if margin <= 0)
    best, total = (at_zero, 0.0), 0.0
    for number, (margin, gain) in enumerate(gains):
        previous = gains[number - 1][0] if number else margin - 2.0
        if previous < margin:
            best = max(best, (total, (previous + margin) / 2), key=_by_gain)
        total += gain
    return max(best, (total, gains[-1][0] + 1.0), key=_by_gain)[1]


def _by_gain(candidate: tuple[float, float]) -> tuple[float, float]:
    # Sums of other orders differ by rounding.
    return round(candidate[0], 9), -abs(candidate[1])


def _normalized_gold(gold: Sequence[str]) -> list[str]:
    return [text for text in map(normalized, gold) if text] or [""]


def _f1(answer: list[str], gold: list[str]) -> float:
    if not answer or not gold:
        return float(answer == gold)
    common = (Counter(answer) & Counter(gold)).total()
    return 2 * common / (len(answer) + len(gold))
