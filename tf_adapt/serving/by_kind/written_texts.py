"""Texts that a model writes: replies, and texts about others. Imports no TensorFlow."""

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from tf_adapt.errors import ConfigError
from tf_adapt.serving.prediction.prediction import Prediction


def written(texts: np.ndarray, *scores: np.ndarray) -> list[Prediction]:
    """The texts of an answer, `[examples] bytes`, with their scores, each `[examples]`."""
    rows = zip(*(of_texts.tolist() for of_texts in scores), strict=True) if scores else repeat(())
    return [
        Prediction(text.decode("utf-8", errors="replace"), of_text)
        for text, of_text in zip(texts.tolist(), rows, strict=False)
    ]


def are_known(answer: dict[str, np.ndarray]) -> bool:
    """Whether the right texts were given, all or none: their tokens are counted."""
    return "tokens" in answer and bool(answer["tokens"].any())


def served(texts: np.ndarray) -> np.ndarray:
    """The texts of an export, `str`, as those of a model, `bytes`."""
    return np.array([text.encode() for text in texts], object)


def refuse_other_exports() -> None:
    """Refuses all exports but a SavedModel of one model.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        "a model that writes texts is exported alone and as a SavedModel, not with other tasks, in "
        "an ensemble or for OpenVINO; leave the others, or --format, out"
    )


def variety(texts: Sequence[str], equal: str) -> dict[str, float]:
    """distinct-1 and -2, and under the name `equal` the share of texts beyond the distinct ones."""
    return {
        "distinct_1": distinct(texts, 1),
        "distinct_2": distinct(texts, 2),
        equal: 1 - len(set(texts)) / len(texts),
    }


def distinct(texts: Sequence[str], n: int) -> float:
    """distinct-n: the number of distinct n-grams of words, divided by the number of all; 0 without.

    Source: Li et al. 2016, "A Diversity-Promoting Objective Function for Neural Conversation
    Models".
    """
    grams = [
        tuple(words[start : start + n])
        for words in map(str.split, texts)
        for start in range(len(words) - n + 1)
    ]
    return len(set(grams)) / len(grams) if grams else 0.0
