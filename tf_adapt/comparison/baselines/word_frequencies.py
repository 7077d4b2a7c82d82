"""How probable texts are by the frequencies of their words alone. Imports no TensorFlow."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from tf_adapt.comparison.baselines.bag_of_words import Answers, Score
from tf_adapt.comparison.baselines.nearest_source import nearest_targets
from tf_adapt.comparison.by_kind.written_texts import BYTES
from tf_adapt.data.formats import Record
from tf_adapt.data.formats.dialogues import Exchange
from tf_adapt.tasks.by_kind.dialog import DISTRACTORS
from tf_adapt.training.by_kind.nearest_reply import nearest_of


def texts(train: Sequence[Record], dev: Sequence[Record], score: Score) -> Answers:
    """The texts of `nearest_targets`, and `log p` of each right one."""
    log_probabilities, nearest = word_log_probabilities(train), nearest_targets(train)
    return lambda scored: list(zip(nearest(scored), log_probabilities(scored), strict=True))


def replies(train: Sequence[Exchange], dev: Sequence[Exchange], score: Score) -> Answers:
    """No text, `log p` of each right one, and the chance that it is chosen of those of its split,
    by `nearest_of`."""
    log_probabilities = word_log_probabilities(train)

    def answers(scored: Sequence[Exchange]) -> list[tuple[str, float, float]]:
        hits = nearest_of(scored, 1 + DISTRACTORS)
        return [("", *of_text) for of_text in zip(log_probabilities(scored), hits, strict=True)]

    return answers


def word_log_probabilities(
    train: Sequence[Record | Exchange],
) -> Callable[[Sequence[Record | Exchange]], list[float]]:
    """Examples → `Σ log p(w)` of the words of each right text, between white space, and of its end.

    With N words in train, T different ones, and `c(w)` of w:
    `p(w) = (c(w) + T·q(w)) / (N + T)`, where `q(w) = Π q(b)` over its bytes and a last blank, whose
    frequencies are those in the T words, each once more.

    Source: Witten and Bell 1991, "The Zero-Frequency Problem".
    """
    counts = Counter(word for one in train for word in _words(one.target))
    of_bytes = Counter(byte for word in counts for byte in (*word, BYTES))
    letters = sum(of_bytes.values()) + BYTES + 1
    seen, types = sum(counts.values()), len(counts)

    def log_probability(word: bytes) -> float:
        # A sum of logarithms: the product over a long word, as a text without blanks, is 0.
        unseen = math.fsum(math.log((of_bytes[byte] + 1) / letters) for byte in (*word, BYTES))
        known = math.log(counts[word]) if counts[word] else -math.inf
        return float(np.logaddexp(known, math.log(types) + unseen)) - math.log(seen + types)

    return lambda scored: [math.fsum(map(log_probability, _words(one.target))) for one in scored]


def _words(text: str) -> list[bytes]:
    """Its words, and none, the end."""
    return [*(word.encode("utf-8", "surrogatepass") for word in text.split()), b""]
