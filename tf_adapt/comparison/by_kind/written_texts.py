"""Written texts: the baseline, and how answers are shown."""

import math
from collections import Counter
from collections.abc import Sequence

from tf_adapt.comparison.by_kind.classification import labels_of_train
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.tasks.by_kind.dialog import DISTRACTORS

BYTES = 256


def byte_counts(splits: Splits) -> tuple[int, ...]:
    """How often each byte is in the right texts of train, and at the end how many texts there
    are; each once more, so that none is impossible."""
    counts = Counter()
    texts = labels_of_train(splits)
    for text in texts:
        counts.update(text.encode("utf-8", "surrogatepass"))
    return (*(counts[byte] + 1 for byte in range(BYTES)), len(texts) + 1)


def byte_phrase(answer: Sequence[int]) -> str:
    """The phrase for these counts."""
    return "random choice, bytes by their frequency in train"


def by_bytes(gold: str, counts: Sequence[int]) -> tuple[str, float, float]:
    """No text; `log p` of the right one by the frequencies of bytes and of the end; of replies one
    of all is chosen at random."""
    total = math.log(sum(counts))
    ids = (*gold.encode("utf-8", "surrogatepass"), BYTES)
    return "", math.fsum(math.log(counts[one]) - total for one in ids), 1 / (1 + DISTRACTORS)


def texts_of(answers: Sequence) -> list[str]:
    """The texts of answers."""
    return list(map(text_of, answers))


def text_of(answer: str | Sequence) -> str:
    """A right text, or that of an answer."""
    return answer if isinstance(answer, str) else answer[0]
