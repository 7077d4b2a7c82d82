"""ELMo's character ids against the rule written as a loop, and how texts are split."""

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.preprocess import ElmoPreprocessor, ElmoTokensPreprocessor
from tf_adapt.errors import ConfigError

WORDS = [
    "a",
    "",
    "naïve",
    "€100",
    "𝒳",
    "x" * 47,
    "x" * 48,
    "x" * 49,
    "é" * 30,
    "x" * 10_000,
    "\u3000",
]


def character_ids(word: str) -> list[int]:
    content = [byte + 1 for byte in word.encode("utf-8")[:48]]
    ids = [259, *content, 260]
    return ids + [261] * (50 - len(ids))


def test_ids_are_those_of_the_rule():
    packed = ElmoPreprocessor().pack([tf.ragged.constant([WORDS, ["a"], []])])["character_ids"]
    assert packed.shape == (3, len(WORDS), 50)
    assert packed.dtype == tf.int32
    np.testing.assert_array_equal(packed[0], [character_ids(word) for word in WORDS])
    np.testing.assert_array_equal(packed[1, 0], character_ids("a"))
    assert not packed.numpy()[1, 1:].any()
    assert not packed.numpy()[2].any()


def test_texts_are_split_at_ascii_white_space_only():
    texts = tf.constant(["a\u3000b  c\u00a0d\te\nf\u2028g\x1ch", " ", ""])
    got = ElmoPreprocessor().tokenize(texts).to_list()
    words = ["a\u3000b", "c\u00a0d", "e", "f\u2028g\x1ch"]
    assert got == [[word.encode() for word in words], [], []]


def test_a_word_is_one_unit():
    preprocessor = ElmoPreprocessor()
    words = tf.ragged.constant([["a b", "c"], [], ["d"]])
    units = preprocessor.tokenize_words(words)
    assert units.to_list() == [[[b"a b"], [b"c"]], [], [[b"d"]]]
    packed = preprocessor.pack_words(units)["character_ids"]
    np.testing.assert_array_equal(packed, preprocessor.pack([words])["character_ids"])
    assert preprocessor.special_tokens(1) == 0


def test_padding_to_a_length_and_at_least_one_word():
    preprocessor = ElmoPreprocessor()
    words = tf.ragged.constant([["a", "b"], []])
    assert preprocessor.pack([words], length=4)["character_ids"].shape == (2, 4, 50)
    nothing = preprocessor.tokenize(tf.constant(["", " "]))
    assert preprocessor.pack([nothing])["character_ids"].shape == (2, 1, 50)
    with pytest.raises(tf.errors.InvalidArgumentError, match="truncate it first"):
        preprocessor.pack([words], length=1)


def test_two_segments_are_refused():
    for preprocessor in [ElmoPreprocessor(), ElmoTokensPreprocessor()]:
        segment = preprocessor.tokenize(tf.constant(["a"]))
        with pytest.raises(ConfigError, match="expected 1 segment, got 2"):
            preprocessor.pack([segment, segment])


def test_words_for_a_module_that_reads_words():
    packed = ElmoTokensPreprocessor().pack([tf.ragged.constant([["a", "b"], ["c"]])])
    assert packed["tokens"].numpy().tolist() == [[b"a", b"b"], [b"c", b""]]
    assert packed["sequence_len"].numpy().tolist() == [2, 1]
    assert packed["sequence_len"].dtype == tf.int32
