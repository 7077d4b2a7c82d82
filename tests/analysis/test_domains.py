"""Divergences against SciPy, a pencil and the definition; correlations against SciPy."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from tf_adapt.analysis.domains import (
    correlation,
    divergence_matrix,
    jensen_shannon,
    joined,
    sample_divergence,
    term_counts,
    terms,
)
from tf_adapt.errors import DataError


def test_terms_are_lower_cased_words_and_single_other_characters():
    assert terms("It's 3.5\u2028ÉTÉ-time…") == [
        *("it", "'", "s", "3", ".", "5", "été", "-", "time", "…"),
    ]  # fmt: skip


def test_disjoint_corpora_are_ln_2_apart():
    assert jensen_shannon({"a": 1}, {"b": 1}) == pytest.approx(0.6931, abs=5e-5)
    assert jensen_shannon({"a": 3, "b": 9}, {"c": 2}) == pytest.approx(math.log(2))


def test_by_pencil():
    # p = (1/2, 1/2), q = (1, 0), m = (3/4, 1/4).
    expected = (0.5 * math.log(2 / 3) + 0.5 * math.log(2) + math.log(4 / 3)) / 2
    assert jensen_shannon({"a": 5, "b": 5}, {"a": 2}) == pytest.approx(expected)


def test_only_relative_frequencies_count():
    first = term_counts(["a b b c"])
    assert jensen_shannon(first, term_counts(["C b B a"] * 7)) == pytest.approx(0, abs=1e-12)


def test_as_scipys_distance_squared():
    random = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(300)])
    corpora = [
        dict(zip(words, random.poisson(random.exponential(3, 300)), strict=True)) for _ in range(4)
    ]
    matrix = divergence_matrix(corpora)
    for row, first in enumerate(corpora):
        for column, second in enumerate(corpora):
            expected = jensenshannon(list(first.values()), list(second.values())) ** 2
            assert matrix[row][column] == pytest.approx(expected, abs=1e-9)


def test_a_corpus_without_terms_is_refused():
    with pytest.raises(DataError, match="at least one term"):
        jensen_shannon(term_counts([" "]), {"a": 1})


def test_the_counts_of_corpora_together():
    assert joined([{"a": 1, "b": 2}, {"b": 3}, {"c": 1}]) == {"a": 1, "b": 5, "c": 1}


def own_sample(texts: list[str], size: int, seed: int = 0) -> float | None:
    return sample_divergence(texts, term_counts(texts), size, seed)


def test_a_sample_is_near_its_own_corpus_and_the_nearer_the_larger():
    random = np.random.default_rng(1)
    texts = [" ".join(random.choice(list("abcde"), 20)) for _ in range(400)]
    other = term_counts([" ".join(random.choice(list("defgh"), 2000))])
    few, many = own_sample(texts, 100), own_sample(texts, 2000)
    assert 0 < many < few < jensen_shannon(term_counts(texts), other) / 10
    # JSD ≈ ⅛ Σ (p − q)² / π of samples of n and m terms from π: on average (5 − 1) (1/n + 1/m) / 8.
    mean = np.mean([own_sample(texts, 2000, seed) for seed in range(40)])
    assert mean == pytest.approx(4 * (1 / 2000 + 1 / 6000) / 8, rel=0.35)


def test_a_sample_is_of_whole_texts_and_at_most_half_of_the_corpus():
    for size, expected in [(1, math.log(2)), (2, math.log(2)), (3, None), (100, None)]:
        assert own_sample(["a b", "c d"], size) == (expected and pytest.approx(expected))


def test_a_correlation_and_its_p_value():
    # r = 4 / √(5 · 4.0) … by the definition, and t = r √((n − 2) / (1 − r²)) with n − 2 = 2.
    found = correlation([1, 2, 3, 4], [1, 3, 2, 4])
    assert found["pearson"] == pytest.approx(0.8)
    # Student's t with two degrees of freedom: p = 1 − t / √(2 + t²) = 1 − |r|.
    assert found["p_value"] == pytest.approx(0.2)
    # Fisher's interval: tanh(atanh r ± 1.96 / √(n − 3)), here n = 4.
    bounds = [math.tanh(math.atanh(0.8) + side * 1.95996) for side in (-1, 1)]
    assert found["interval"] == pytest.approx(bounds, abs=1e-5)
    assert found["pairs"] == 4


def test_no_correlation_of_too_little():
    for values in [[1.0, 2.0], [1.0, 1.0, 1.0]]:
        found = correlation(values, list(range(len(values))))
        assert (found["pearson"], found["p_value"], found["interval"]) == (None, None, None)
