"""Truncation against the loop it replaces; splitting of sentences as properties."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text

from hub_modules.preprocess import cut_words, split_words, truncate
from tf_adapt.errors import ConfigError


def popped(first: list, second: list, limit: int) -> tuple[list, list]:
    """The rule as google-research/bert states it: the longer one loses its last element."""
    first, second = list(first), list(second)
    while len(first) + len(second) > limit:
        (first if len(first) > len(second) else second).pop()
    return first, second


def test_pairs_are_cut_as_by_the_loop():
    for limit in [0, 1, 2, 5, 8, 9]:
        pairs = [(list(range(a)), list(range(100, 100 + b))) for a in range(12) for b in range(12)]
        segments = [
            tf.ragged.constant([p[i] for p in pairs], tf.int32, ragged_rank=1) for i in (0, 1)
        ]
        (first, second), cut = truncate(segments, limit)
        expected = [popped(*pair, limit) for pair in pairs]
        assert first.to_list() == [a for a, _ in expected]
        assert second.to_list() == [b for _, b in expected]
        assert cut.numpy().tolist() == [len(a) + len(b) > limit for a, b in pairs]


def test_pairs_are_cut_as_by_round_robin():
    for limit in [0, 1, 2, 5, 8, 9]:
        lengths = np.stack(np.meshgrid(range(12), range(12))).reshape(2, -1)
        segments = [tf.RaggedTensor.from_row_lengths(tf.range(n.sum()), n) for n in lengths]
        expected = tensorflow_text.RoundRobinTrimmer(limit).trim(segments)
        for got, other in zip(truncate(segments, limit)[0], expected, strict=True):
            assert got.to_list() == other.to_list()


def test_a_single_text_keeps_its_prefix():
    (kept,), cut = truncate([tf.ragged.constant([["a", "b", "c"], ["d"], []])], 2)
    assert kept.to_list() == [[b"a", b"b"], [b"d"], []]
    assert cut.numpy().tolist() == [True, False, False]


def test_three_segments_are_refused():
    segment = tf.ragged.constant([[1]])
    with pytest.raises(ConfigError, match="expected one or two segments, got 3"):
        truncate([segment] * 3, 2)


def random_sentences(random, longest_word: int) -> list[list[list[int]]]:
    counter = iter(range(10**6))
    return [
        [
            [next(counter) for _ in range(random.integers(1, longest_word + 1))]
            for _ in range(random.integers(0, 30))
        ]
        for _ in range(random.integers(1, 8))
    ]


def ragged(sentences: list) -> tf.RaggedTensor:
    words = [word for sentence in sentences for word in sentence]
    units = tf.RaggedTensor.from_row_lengths(
        tf.constant([unit for word in words for unit in word], tf.int32), [len(w) for w in words]
    )
    return tf.RaggedTensor.from_row_lengths(units, [len(sentence) for sentence in sentences])


def test_chunks_fit_keep_the_order_and_give_the_sentences_back():
    for seed in range(20):
        random = np.random.default_rng(seed)
        longest_word = int(random.integers(1, 7))
        budget = int(random.integers(longest_word, 40))
        sentences = random_sentences(random, longest_word)
        units = ragged(sentences)
        chunks = split_words(units, budget)

        assert tf.reduce_max(chunks.merge_dims(1, 2).row_lengths()) <= budget
        np.testing.assert_array_equal(chunks.flat_values, units.flat_values)
        restored = tf.RaggedTensor.from_row_splits(chunks.values, units.row_splits)
        assert restored.to_list() == sentences
        # Each sentence's limits are limits of chunks, and one that fits is one chunk.
        assert set(units.row_splits.numpy()) <= set(chunks.row_splits.numpy())
        sizes = [sum(map(len, sentence)) for sentence in sentences]
        if max(sizes) <= budget:
            assert chunks.to_list() == sentences
        # A chunk without words comes only from a sentence without words.
        empty = sum(not sentence for sentence in sentences)
        assert sum(not chunk for chunk in chunks.to_list()) == empty


def test_a_sentence_is_split_the_same_whatever_stands_beside_it():
    long = [[unit] for unit in range(9)]
    alone = split_words(ragged([long]), 4).to_list()
    beside = split_words(ragged([long, [[1, 2, 3, 4], [5]]]), 4).to_list()
    assert alone == [long[:4], long[4:8], long[8:]]
    assert beside[:3] == alone


def test_splitting_is_the_same_in_a_traced_function():
    units = ragged([[[1, 2], [3], [4, 5, 6]], [[7]]])
    spec = tf.RaggedTensorSpec([None, None, None], tf.int32)
    traced = tf.function(lambda x: split_words(x, 3), input_signature=[spec])
    assert traced(units).to_list() == split_words(units, 3).to_list()


def test_words_are_cut_to_their_first_units():
    units = ragged([[[1, 2, 3], [4]], [], [[5, 6]]])
    assert cut_words(units, 2).to_list() == [[[1, 2], [4]], [], [[5, 6]]]
