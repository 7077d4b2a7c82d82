"""The difference of corpora: Jensen–Shannon divergence of their term distributions."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tf_adapt.errors import DataError

_TERM = re.compile(r"\w+|[^\w\s]")


def terms(text: str) -> list[str]:
    """The terms of a text, lower-cased: runs of letters and digits, and single other characters."""
    return _TERM.findall(text.lower())


def term_counts(texts: Iterable[str]) -> Counter[str]:
    """The count of each term in a corpus."""
    return Counter(term for text in texts for term in terms(text))


def joined(corpora: Iterable[Mapping[str, int]]) -> Counter[str]:
    """The sum of the term counts of several corpora: larger ones weigh more."""
    total: Counter[str] = Counter()
    for counts in corpora:
        total.update(counts)
    return total


def jensen_shannon(first: Mapping[str, int], second: Mapping[str, int]) -> float:
    """Divergence of two term distributions over the vocabulary of both, in nats: 0 to ln 2.

    `JSD = ½ Σ p ln(p / m) + ½ Σ q ln(q / m)`, `m = (p + q) / 2`, with p and q the relative
    frequencies. Biased upwards for small samples, also between samples of one source
    (`sample_divergence`).

    Raises:
        DataError: a corpus has no terms.

    Source: Lin 1991, "Divergence measures based on the Shannon entropy"; Peters, Ruder, Smith 2019,
    table 6.
    """
    from scipy.special import rel_entr

    if not sum(first.values()) or not sum(second.values()):
        raise DataError(
            "divergence: expected corpora with at least one term each, got an empty one"
        )
    vocabulary = sorted({*first, *second})
    p, q = (_frequencies(counts, vocabulary) for counts in (first, second))
    middle = (p + q) / 2
    return float((rel_entr(p, middle).sum() + rel_entr(q, middle).sum()) / 2)


def divergence_matrix(corpora: Sequence[Mapping[str, int]]) -> list[list[float]]:
    """`jensen_shannon` of each corpus (row) and each (column); symmetric, 0 on the diagonal."""
    matrix = [[0.0] * len(corpora) for _ in corpora]
    for row, first in enumerate(corpora):
        for column in range(row):
            matrix[row][column] = matrix[column][row] = jensen_shannon(first, corpora[column])
    return matrix


def sample_divergence(
    texts: Sequence[str], counts: Counter[str], size: int, seed: int = 0
) -> float | None:
    """The divergence of a random sample of a corpus from the rest of that corpus, in nats.

    It is due to the sample size alone: a floor for the divergence of other corpora of that size.

    Args:
        texts: of the corpus, with at least one term.
        counts: of these texts, see `term_counts`.
        size: texts are drawn until they have at least that many terms.
        seed: of the order of the texts.

    Returns:
        The divergence; None if the sample would be more than half of the corpus.
    """
    sample, drawn = Counter(), 0
    for place in np.random.default_rng(seed).permutation(len(texts)):
        drawn_terms = terms(texts[place])
        sample.update(drawn_terms)
        drawn += len(drawn_terms)
        if drawn >= size:
            break
    others = counts - sample
    return jensen_shannon(sample, others) if drawn <= others.total() else None


def correlation(first: Sequence[float], second: Sequence[float]) -> dict[str, float | list | None]:
    """Pearson's r of pairs of numbers, its two-sided p-value and its 95 % interval.

    The interval is Fisher's, [-1, 1] for three pairs. All are None for fewer than three pairs, or
    if one side is constant.
    """
    from scipy.stats import pearsonr

    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return {"pearson": None, "p_value": None, "interval": None, "pairs": len(first)}
    test = pearsonr(first, second)
    return {
        "pearson": float(test.statistic),
        "p_value": float(test.pvalue),
        "interval": [float(bound) for bound in test.confidence_interval(0.95)],
        "pairs": len(first),
    }


def _frequencies(counts: Mapping[str, int], vocabulary: list[str]) -> np.ndarray:
    numbers = np.array([counts.get(term, 0) for term in vocabulary], "float64")
    return numbers / numbers.sum()
