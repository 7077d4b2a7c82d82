"""The best answers in a window against all spans, one by one in float64."""

import numpy as np
from scipy.special import logsumexp

from tf_adapt.light.answer_spans import Window, best_answer, best_spans
from tf_adapt.tasks.span_search import SpanSearch


def test_a_long_window():
    random = np.random.default_rng(0)
    search = SpanSearch(stride=8, longest_answer=30, no_answer_threshold=None)
    for words in (0, 1, 300):
        logits = random.normal(0, 2, [1 + words, 2]).astype("float32")
        places, counts = np.arange(words), np.ones(words, bool)
        window = Window([[], []], places, places, places * 2, places * 2 + 1, counts)
        probability, start, end = best_answer([best_spans(logits, window, search)], search)
        exact = logits[1:].astype("float64")
        spans = {
            (first * 2, last * 2 + 1): exact[first, 0] + exact[last, 1]
            for first in range(words)
            for last in range(first, min(first + 30, words))
        }
        if not spans:
            assert (probability, start, end) == (0, -1, -1)
            continue
        best = max(spans, key=spans.get)
        assert (start, end) == best
        expected = np.exp(spans[best] - logsumexp(list(spans.values())))
        np.testing.assert_allclose(probability, expected, atol=1e-6)
