"""WordPiece, packing and the places of words, on a vocabulary small enough to follow by hand."""

import string

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.preprocess import BertPreprocessor
from hub_modules.preprocess.bert import pack_words_at
from tf_adapt.errors import ArtifactError

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [
    *SPECIAL,
    *string.ascii_lowercase,
    *(f"##{c}" for c in string.ascii_lowercase),
    ".",
    "un",
    "##able",
]
IDS = {piece: number for number, piece in enumerate(VOCABULARY)}


@pytest.fixture(scope="module")
def preprocessor():
    return BertPreprocessor(VOCABULARY, lower_case=True)


def pieces(ids) -> list:
    return [VOCABULARY[i] if isinstance(i, int) else pieces(i) for i in ids]


def test_longest_piece_first_and_unknown_for_the_rest(preprocessor):
    got = preprocessor.tokenize(tf.constant(["Unable.", "b§ Ünab", ""]))
    assert got.dtype == tf.int32
    assert pieces(got.to_list()) == [
        ["un", "##able", "."],
        ["b", "[UNK]", "un", "##a", "##b"],
        [],
    ]


def test_a_cased_vocabulary_keeps_case_and_accents():
    cased = BertPreprocessor([*VOCABULARY, "U"], lower_case=False)
    assert cased.tokenize(tf.constant(["Un Ü un"])).to_list() == [
        [len(VOCABULARY), IDS["##n"], IDS["[UNK]"], IDS["un"]]
    ]


def test_a_word_that_loses_all_characters_is_unknown(preprocessor):
    for word in ["\u3000", "\u200b", "\ufeff", "\x01", "\u00ad", " ", "", "\u2028"]:
        words = tf.ragged.constant([["a", word, "b"], [word]])
        got = preprocessor.tokenize_words(words).to_list()
        assert pieces(got) == [[["a"], ["[UNK]"], ["b"]], [["[UNK]"]]]


def test_words_keep_their_pieces_apart(preprocessor):
    words = tf.ragged.constant([["unable", "a\u00a0b"], [], ["x" * 101]])
    got = preprocessor.tokenize_words(words)
    assert pieces(got.to_list()) == [[["un", "##able"], ["a", "b"]], [], [["[UNK]"]]]


def test_pieces_are_grouped_into_words(preprocessor):
    grouped = preprocessor.group_words(preprocessor.tokenize(tf.constant(["unable.", "", "§ ab"])))
    assert pieces(grouped.to_list()) == [[["un", "##able"], ["."]], [], [["[UNK]"], ["a", "##b"]]]


def test_pack_one_segment(preprocessor):
    packed = preprocessor.pack([preprocessor.tokenize(tf.constant(["a b", ""]))])
    cls, sep = IDS["[CLS]"], IDS["[SEP]"]
    expected = [[cls, IDS["a"], IDS["b"], sep], [cls, sep, 0, 0]]
    np.testing.assert_array_equal(packed["input_word_ids"], expected)
    np.testing.assert_array_equal(packed["input_mask"], [[1, 1, 1, 1], [1, 1, 0, 0]])
    np.testing.assert_array_equal(packed["input_type_ids"], np.zeros([2, 4]))
    assert {value.dtype for value in packed.values()} == {tf.int32}


def test_pack_two_segments(preprocessor):
    first = preprocessor.tokenize(tf.constant(["a b", "a"]))
    second = preprocessor.tokenize(tf.constant(["c", "d e"]))
    packed = preprocessor.pack([first, second], length=8)
    ids = [
        ["[CLS]", "a", "b", "[SEP]", "c", "[SEP]", "[PAD]", "[PAD]"],
        ["[CLS]", "a", "[SEP]", "d", "e", "[SEP]", "[PAD]", "[PAD]"],
    ]
    assert pieces(packed["input_word_ids"].numpy().tolist()) == ids
    types = [[0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0]]
    np.testing.assert_array_equal(packed["input_type_ids"], types)
    np.testing.assert_array_equal(packed["input_mask"], [[1] * 6 + [0] * 2] * 2)


def test_padding_need_not_be_number_zero():
    moved = BertPreprocessor(["a", *SPECIAL], lower_case=True)
    packed = moved.pack([moved.tokenize(tf.constant(["a", ""]))])
    np.testing.assert_array_equal(packed["input_word_ids"], [[3, 0, 4], [3, 4, 1]])
    np.testing.assert_array_equal(packed["input_mask"], [[1, 1, 1], [1, 1, 0]])


def test_pack_refuses_a_row_that_is_too_long(preprocessor):
    segment = preprocessor.tokenize(tf.constant(["a b c"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="truncate it first"):
        preprocessor.pack([segment], length=4)


def test_first_piece_points_at_the_first_piece(preprocessor):
    words = tf.ragged.constant([["unable", "ab", "."], ["\u200b"], []])
    packed = preprocessor.pack_words(preprocessor.tokenize_words(words))
    np.testing.assert_array_equal(packed["first_piece"], [[1, 3, 5], [1, -1, -1], [-1, -1, -1]])
    rows = packed["input_word_ids"].numpy()
    starts = [VOCABULARY[rows[0, place]] for place in packed["first_piece"].numpy()[0]]
    assert starts == ["un", "a", "."]


def test_words_may_stand_anywhere_in_a_row(preprocessor):
    rows = preprocessor.tokenize(tf.constant(["a unable b .", "ab"]))
    offsets = tf.ragged.constant([[1, 3], [0]], tf.int64)
    packed = pack_words_at(rows, offsets, preprocessor.special_token_ids)
    np.testing.assert_array_equal(packed["first_piece"], [[2, 4], [1, -1]])
    assert pieces(packed["input_word_ids"].numpy().tolist()) == [
        ["[CLS]", "a", "un", "##able", "b", ".", "[SEP]"],
        ["[CLS]", "a", "##b", "[SEP]", "[PAD]", "[PAD]", "[PAD]"],
    ]
    assert packed["first_piece"].dtype == tf.int32
    whole = preprocessor.pack([rows])
    for name, value in whole.items():
        np.testing.assert_array_equal(packed[name], value)


def test_no_texts_at_all(preprocessor):
    packed = preprocessor.pack([preprocessor.tokenize(tf.constant([], tf.string))])
    assert packed["input_word_ids"].shape == (0, 2)


def test_eager_function_and_map_agree(preprocessor):
    texts = tf.constant(["unable a.", "", "ab § \u200b"])

    def encode(texts):
        words = tf.strings.split(texts)
        return preprocessor.pack_words(preprocessor.tokenize_words(words))

    eager = encode(texts)
    spec = tf.TensorSpec([None], tf.string)
    traced = tf.function(encode, input_signature=[spec])(texts)
    mapped = next(iter(tf.data.Dataset.from_tensors(texts).map(encode)))
    for name, value in eager.items():
        np.testing.assert_array_equal(traced[name], value)
        np.testing.assert_array_equal(mapped[name], value)


def test_special_tokens(preprocessor):
    assert preprocessor.special_token_ids == {
        "vocab_size": len(VOCABULARY),
        "padding_id": 0,
        "start_of_sequence_id": 2,
        "end_of_segment_id": 3,
        "mask_id": 4,
    }
    assert [preprocessor.special_tokens(n) for n in (1, 2)] == [2, 3]


def test_unusable_vocabularies():
    for vocabulary, message in [
        ([*SPECIAL, "a", "b", "a"], "expected each piece once, got 'a' in lines 6 and 8"),
        ([*SPECIAL, "", "b"], "expected a piece in line 6, got an empty one"),
        (["[PAD]", "[SEP]", "a"], r"\[CLS\], \[UNK\] missing"),
        ([], r"\[PAD\], \[CLS\], \[SEP\], \[UNK\] missing"),
        ([*SPECIAL, "x" * 10_000], "tensorflow-text cannot use it"),
    ]:
        with pytest.raises(ArtifactError, match=message):
            BertPreprocessor(vocabulary, lower_case=True)
