"""Byte-pair encoding in the graph against its definition; against HuggingFace in tests/parity."""

import random

import pytest
import tensorflow as tf

from hub_modules.errors import ArtifactError
from hub_modules.preprocess.byte_pairs import LONGEST_PART, BytePairTokenizer, byte_signs


def trained(count: int) -> tuple[dict, list]:
    """A vocabulary of the bytes and `count` merges of random pieces, each after its parts."""
    draw = random.Random(1)
    pieces, merges = [chr(97 + number) for number in range(4)] + ["Ġ"], []
    while len(merges) < count:
        pair = draw.choice(pieces), draw.choice(pieces)
        if len("".join(pair)) < 6 and "Ġ" not in pair[1] and "".join(pair) not in pieces:
            pieces.append("".join(pair))
            merges.append(" ".join(pair))
    vocabulary = {piece: number for number, piece in enumerate([*byte_signs(), *pieces[5:]])}
    return vocabulary, merges


VOCABULARY, MERGES = trained(40)


def by_definition(word: str) -> list[int]:
    """The pieces of a word of letters and blanks: the first merge of the list, again and again."""
    pieces = list(word.replace(" ", "Ġ"))
    ranks = {tuple(merge.split()): rank for rank, merge in enumerate(MERGES)}
    while True:
        pairs = list(zip(pieces[:-1], pieces[1:], strict=True))
        known = [pair for pair in pairs if pair in ranks]
        if not known:
            return [VOCABULARY[piece] for piece in pieces]
        place = pairs.index(min(known, key=ranks.get))
        pieces[place : place + 2] = ["".join(pieces[place : place + 2])]


@pytest.fixture(scope="module")
def tokenizer():
    return BytePairTokenizer(VOCABULARY, MERGES, unknown_id=0)


def test_words_are_merged_by_the_order_of_the_merges(tokenizer):
    draw = random.Random(2)
    words = ["".join(draw.choices("abcd", k=draw.randint(1, 30))) for _ in range(200)]
    found = tokenizer.tokenize(tf.constant(words)).to_list()
    assert found == [by_definition(word) for word in words]
    text = tokenizer.tokenize(tf.constant([" ".join(words)])).to_list()[0]
    expected = [
        by_definition(word if number == 0 else f" {word}") for number, word in enumerate(words)
    ]
    assert text == [piece for word in expected for piece in word]


def test_a_very_long_word_is_merged_in_parts(tokenizer):
    word = "abcd" * 200
    parts = [word[start : start + LONGEST_PART] for start in range(0, len(word), LONGEST_PART)]
    expected = [piece for part in parts for piece in by_definition(part)]
    assert tokenizer.tokenize(tf.constant(["a", word])).to_list()[1] == expected


def test_a_text_is_cut_into_words_as_gpt_2_does():
    for text, words in [
        ("", []),
        ("a  b", ["a", " ", " b"]),
        (" a", [" a"]),
        ("a  ", ["a", "  "]),
        ("a \n b", ["a", " \n", " b"]),
        ("a\u00a0b", ["a", "\u00a0", "b"]),
        ("ab12 3!? don't", ["ab", "12", " 3", "!?", " don", "'t"]),
    ]:
        tokenizer = BytePairTokenizer({sign: n for n, sign in enumerate(byte_signs())}, [], 0)
        cut = tokenizer._words(tf.constant([text])).to_list()[0]
        assert [word.decode() for word in cut] == words
        # Without merges each byte is a piece, white space too.
        assert tokenizer.tokenize(tf.constant([text])).to_list() == [list(text.encode())]


def test_no_texts(tokenizer):
    assert tokenizer.tokenize(tf.constant([], tf.string)).to_list() == []
    assert tokenizer.tokenize(tf.constant(["", ""])).to_list() == [[], []]


@pytest.mark.slow
def test_in_a_graph_and_in_a_saved_model(tokenizer, tmp_path):
    module = tf.Module()
    module.tokenizer = tokenizer
    spec = tf.TensorSpec([None], tf.string)
    module.ids = tf.function(tokenizer.tokenize, input_signature=[spec])
    tf.saved_model.save(module, tmp_path)
    texts = tf.constant(["ab  cd", "dd", ""])
    expected = tokenizer.tokenize(texts).to_list()
    assert tf.saved_model.load(tmp_path).ids(texts).to_list() == expected


def test_a_merge_that_does_not_fit():
    for merge in ["ab", "a b c", "a é", "a b"]:
        vocabulary = {"a": 0, "b": 1}
        with pytest.raises(ArtifactError, match="merges: 1: expected two pieces of the vocabulary"):
            BytePairTokenizer(vocabulary, [merge], unknown_id=0)
