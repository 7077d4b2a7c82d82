"""A cut vocabulary: what stays, and that every word can still be spelt."""

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.errors import ConfigError
from hub_modules.preprocess import BertPreprocessor
from hub_modules.preprocess.cut_vocabulary import cut_vocabulary

NEEDED = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##a", "##b", "é"]
VOCABULARY = [*NEEDED[:5], "[unused0]", "ab", *NEEDED[5:], "##ab", "ba", "bab"]


def kept(size, **counts):
    numbers = np.array([counts.get(piece, 0) for piece in VOCABULARY])
    return [VOCABULARY[number] for number in cut_vocabulary(VOCABULARY, numbers, size)]


def test_special_pieces_and_characters_stay_and_then_the_most_used():
    assert kept(10, ab=9, bab=9) == NEEDED
    assert kept(11, ab=2, ba=5, bab=4) == [*NEEDED, "ba"]
    assert kept(12, ab=4, ba=5, bab=4) == [*NEEDED[:5], "ab", *NEEDED[5:], "ba"]  # a tie: lower id
    assert kept(len(VOCABULARY)) == VOCABULARY


def test_every_word_is_spelt_still():
    texts = tf.constant(["ab abab bab aab é"])
    whole, cut = (BertPreprocessor(pieces, lower_case=False) for pieces in (VOCABULARY, NEEDED))
    assert whole.unknown_id not in whole.tokenize(texts).values
    pieces = [NEEDED[number] for number in cut.tokenize(texts).values]
    assert "".join(pieces).replace("##", "") == "ababab" + "babaabé"
    assert "[UNK]" not in pieces


def test_sizes_that_cannot_be():
    for size in [9, 16, 0]:
        message = r"from 10 pieces \(special ones and single characters.* to 15 \(all\), got"
        with pytest.raises(ConfigError, match=message):
            kept(size)
