import numpy as np
import pytest
import tensorflow as tf

from hub_modules.preprocess import CausalPreprocessor
from hub_modules.preprocess.byte_pairs import byte_signs

VOCABULARY = [*byte_signs(), "<|endoftext|>", "ab", "abc", "bc", "aa", "Ġa"]
MERGES = ["b c", "a b", "ab c", "a a", "Ġ a"]
END, TOKEN = 256, 300


def letters(text: str) -> list[int]:
    return [VOCABULARY.index(piece) for piece in text.split()]


@pytest.fixture(scope="module")
def preprocessor() -> CausalPreprocessor:
    return CausalPreprocessor(VOCABULARY, MERGES)


def test_merges_in_their_order(preprocessor):
    for text, pieces in [
        ("abc", "a bc"),  # b c comes before a b, and a bc is no merge
        ("abbc", "ab bc"),
        ("aaaaa", "aa aa a"),
        ("aaab", "aa ab"),
        (" a a", "Ġa Ġa"),
        ("  a", "Ġ Ġa"),
        ("", ""),
    ]:
        assert preprocessor.tokenize([text]).to_list() == [letters(pieces)]


def test_texts_come_back_from_their_pieces(preprocessor):
    texts = ["abc aaab  a\n\tx", "naïve 你好 😀", "\x7f\x01", ""]
    ids = preprocessor(texts)["input_word_ids"]
    found = preprocessor.detokenize(tf.concat([ids, tf.fill([4, 1], TOKEN)], axis=1))
    assert [text.decode() for text in found.numpy()] == texts


def test_texts_in_a_row(preprocessor):
    found = preprocessor(["ab", "", "aa a"])
    assert found["input_word_ids"].numpy().tolist() == [
        [END, *letters("ab"), END, END],
        [END, END, END, END],
        [END, *letters("aa Ġa"), END],
    ]
    assert found["input_mask"].numpy().sum(axis=1).tolist() == [3, 2, 4]
    assert not found["input_type_ids"].numpy().any()


def test_pairs_in_one_row_and_the_classification_token():
    plain = CausalPreprocessor(VOCABULARY, MERGES)
    marked = CausalPreprocessor(VOCABULARY, MERGES, classification_token=True, rows=TOKEN)
    pair = (["a", "ab"], ["aa aa", ""])
    assert plain(pair)["input_word_ids"].numpy().tolist() == [
        [END, *letters("a"), END, *letters("aa Ġ aa"), END],
        [END, *letters("ab"), END, END, END, END, END],
    ]
    assert plain(pair)["input_type_ids"].numpy().tolist() == [
        [0] * 3 + [1] * 4,
        [0] * 3 + [1, 0, 0, 0],
    ]
    expected = plain(pair)["input_word_ids"].numpy()
    expected[[0, 1], [6, 3]] = TOKEN
    np.testing.assert_array_equal(marked(pair)["input_word_ids"], expected)
    assert CausalPreprocessor(VOCABULARY, MERGES, True).classification_id == len(VOCABULARY)


def test_words_with_the_place_of_their_first_piece(preprocessor):
    words = tf.ragged.constant([["abc", "x", "a"], ["bc"]])
    packed = preprocessor.pack_words(preprocessor.tokenize_words(words))
    first = [END, *letters("Ġa bc Ġ x Ġa"), END]
    second = [END, *letters("Ġ bc"), END, END, END, END]
    assert packed["input_word_ids"].numpy().tolist() == [first, second]
    assert packed["first_piece"].numpy().tolist() == [[1, 3, 5], [1, -1, -1]]
    assert preprocessor.tokenize_words(tf.ragged.constant([[""]])).to_list() == [[letters("Ġ")]]


def test_special_tokens_in_a_text_are_letters(preprocessor):
    assert END not in preprocessor.tokenize(["<|endoftext|>"]).to_list()[0]
