"""How different two corpora are: Jensen–Shannon divergence of their term distributions."""

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
    """How often each term occurs in a corpus."""
    return Counter(term for text in texts for term in terms(text))


def joined(texts: Iterable[Counter[str]]) -> Counter[str]:
    """The counts of several texts together."""
    # Adding counters would copy the sum at each text.
    total: Counter[str] = Counter()
    for text in texts:
        total.update(text)
    return total


def jensen_shannon(first: Mapping[str, int], second: Mapping[str, int]) -> float:
    """Divergence of two term distributions over the vocabulary of both, in nats: 0 to ln 2.

    `JSD = ½ Σ p ln(p / m) + ½ Σ q ln(q / m)`, `m = (p + q) / 2`, with p and q the relative
    frequencies. The smaller the samples, the larger it is, also between samples of one source.

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


def chance_divergence(
    first: Sequence[Counter[str]], second: Sequence[Counter[str]], seed: int = 0
) -> float:
    """The divergence of two corpora whose texts were mixed and parted again at random.

    It is what samples of these sizes show without any difference between their sources.

    Args:
        first, second: the terms of each text; texts that belong together are given as one. The
            first part gets as many terms as the first corpus had, but for the last text.
        seed: of the order in which texts are dealt out.
    """
    texts, wanted = [*first, *second], sum(text.total() for text in first)
    order = np.random.default_rng(seed).permutation(len(texts))
    reached = np.cumsum([texts[place].total() for place in order])
    # At least one text is left for the second part.
    cut = min(int(np.searchsorted(reached, wanted)) + 1, len(texts) - 1)
    parts = np.split(order, [cut])
    return jensen_shannon(*(joined(texts[place] for place in part) for part in parts))


def correlation(first: Sequence[float], second: Sequence[float]) -> dict[str, float | bool | None]:
    """Pearson's r of pairs of numbers, its two-sided p-value, and whether that is below 0.05.

    All are None for fewer than three pairs, or where a side does not vary.
    """
    from scipy.stats import pearsonr

    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return {"pearson": None, "p_value": None, "significant": None, "pairs": len(first)}
    found = pearsonr(first, second)
    return {
        "pearson": float(found.statistic),
        "p_value": float(found.pvalue),
        "significant": bool(found.pvalue < 0.05),
        "pairs": len(first),
    }


def _frequencies(counts: Mapping[str, int], vocabulary: list[str]) -> np.ndarray:
    numbers = np.array([counts.get(term, 0) for term in vocabulary], "float64")
    return numbers / numbers.sum()
