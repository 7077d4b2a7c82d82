"""What is written about the most similar source of train. Imports no TensorFlow."""

from collections.abc import Callable, Sequence

import numpy as np

from tf_adapt.data.formats import Record

ROWS = 1000  # of similarities at once


def nearest_targets(train: Sequence[Record]) -> Callable[[Sequence[Record]], list[str]]:
    """Examples → the target of train's source with the highest cosine of TF-IDF, the first of
    equals."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(token_pattern=r"(?u)\S+")
    known = vectorizer.fit_transform([one.text_a for one in train]).T

    def targets(scored: Sequence[Record]) -> list[str]:
        given = vectorizer.transform([one.text_a for one in scored])
        parts = [given[start : start + ROWS] @ known for start in range(0, len(scored), ROWS)]
        nearest = [np.asarray(part.argmax(axis=1)).ravel() for part in parts]
        return [train[number].label for number in np.concatenate(nearest)]

    return targets
