"""The baseline of a choice among replies: the one with the nearest words. Imports no TensorFlow."""

from collections.abc import Sequence

import numpy as np

from tf_adapt.data.by_kind.dialog import wrong_replies
from tf_adapt.data.formats.dialogues import Exchange


def tfidf_hits(records: Sequence[Exchange]) -> float:
    """How often `nearest_of` all candidates is the right one."""
    return float(np.mean(nearest_of(records)))


def nearest_of(records: Sequence[Exchange], candidates: int | None = None) -> list[float]:
    """Of each exchange whether the right reply is nearest to persona and last turn by the cosine of
    TF-IDF; where n replies are equally near, one nth.

    Words are those between white space; document frequencies are those of all persona sentences
    and turns of these exchanges.

    Args:
        candidates: how many replies there are to choose among; None: all.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = sorted({text for record in records for text in record.texts})
    vectorizer = TfidfVectorizer(token_pattern=r"(?u)\S+").fit(texts)
    contexts = [" ".join((*record.persona, record.history[-1])) for record in records]
    hits = []
    of_records = zip(vectorizer.transform(contexts), wrong_replies(records), strict=True)
    for context, replies in of_records:
        cosines = (vectorizer.transform(replies[:candidates]) @ context.T).toarray()[:, 0]
        best = np.isclose(cosines, cosines.max())
        hits.append(float(best[0] / best.sum()))
    return hits
