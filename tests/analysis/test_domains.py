"""Divergences against SciPy, a pencil and the definition; correlations against SciPy."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from tf_adapt.analysis.domains import (
    chance_divergence,
    correlation,
    divergence_matrix,
    jensen_shannon,
    joined,
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


def test_texts_parted_at_random_do_not_show_the_difference_of_their_sources():
    random = np.random.default_rng(1)
    first = [term_counts([" ".join(random.choice(list("abcde"), 20))]) for _ in range(200)]
    second = [term_counts([" ".join(random.choice(list("defgh"), 20))]) for _ in range(100)]
    apart = jensen_shannon(joined(first), joined(second))
    assert apart > 0.3
    assert chance_divergence(first, second) < apart / 50
    # The parts have the sizes of the corpora: with one text against all others, one is dealt out.
    alone = chance_divergence([term_counts(["a"])], [term_counts(["b"])] * 3)
    assert alone in [
        pytest.approx(value) for value in (math.log(2), jensen_shannon({"b": 1}, {"a": 1, "b": 2}))
    ]


def test_a_correlation_and_its_p_value():
    # r = 4 / √(5 · 4.0) … by the definition, and t = r √((n − 2) / (1 − r²)) with n − 2 = 2.
    found = correlation([1, 2, 3, 4], [1, 3, 2, 4])
    assert found["pearson"] == pytest.approx(0.8)
    # Student's t with two degrees of freedom: p = 1 − t / √(2 + t²) = 1 − |r|.
    assert found["p_value"] == pytest.approx(0.2)
    assert found["significant"] is False
    assert correlation([1, 2, 3, 4], [2, 4, 6, 8.001])["significant"] is True


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, 1.0, 1.0]])
def test_no_correlation_of_too_little(values):
    found = correlation(values, list(range(len(values))))
    assert (found["pearson"], found["p_value"], found["significant"]) == (None, None, None)


@pytest.mark.parametrize("seed", range(5))
def test_chance_leaves_a_text_for_the_second_part(seed):
    longer = [term_counts(["a b c d e f g h i j"])] * 3
    assert chance_divergence(longer, [term_counts(["a b"])], seed) > 0
