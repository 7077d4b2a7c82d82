"""The baseline of a choice among replies: the one with the nearest words."""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from tf_adapt.data.formats.dialogues import Exchange
from tf_adapt.data.packing.dialog import wrong_replies


def tfidf_hits(records: list[Exchange]) -> float:
    """How often the right reply is nearest to persona and last turn by the cosine of TF-IDF; where
    n replies are equally near, one nth.

    Document frequencies are those of all persona sentences and turns of these exchanges.
    """
    candidates = wrong_replies(records)
    texts = sorted({text for record in records for text in record.texts})
    vectorizer = TfidfVectorizer().fit(texts)
    contexts = [" ".join((*record.persona, record.history[-1])) for record in records]
    hits = []
    for context, replies in zip(vectorizer.transform(contexts), candidates, strict=True):
        cosines = (vectorizer.transform(replies) @ context.T).toarray()[:, 0]
        best = np.isclose(cosines, cosines.max())
        hits.append(best[0] / best.sum())
    return float(np.mean(hits))
