"""Which states belong to which text, by pencil."""

import numpy as np
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.layers.texts import input_states, text_states

STATES = np.arange(14, dtype="float32").reshape(2, 7, 1)
# [CLS] a a [SEP] b [SEP] and padding; [CLS] a [SEP] b b b [SEP].
PAIR = {
    "input_mask": np.array([[1, 1, 1, 1, 1, 1, 0], [1] * 7], "int32"),
    "input_type_ids": np.array([[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1]], "int32"),
}


def real(part) -> list:
    states, mask = part
    return [
        row[keep][:, 0].tolist() for row, keep in zip(states.numpy(), mask.numpy(), strict=True)
    ]


def test_a_joint_row_is_taken_apart_without_special_tokens():
    first, second = text_states([STATES], [{}], PAIR)
    assert real(first) == [[1, 2], [8]]
    assert real(second) == [[4], [10, 11, 12]]
    assert first[0].shape == (2, 2, 1)
    assert second[0].shape == (2, 3, 1)


def test_a_single_text_has_an_empty_second():
    single = {"input_mask": PAIR["input_mask"], "input_type_ids": np.zeros((2, 7), "int32")}
    first, second = text_states([STATES], [{}], single)
    assert real(first) == [[1, 2, 3, 4], [8, 9, 10, 11, 12]]
    assert second[0].shape == (2, 0, 1)


def test_rows_without_words_are_empty():
    # [CLS] [SEP] [SEP], and a row of padding.
    inputs = {
        "input_mask": np.array([[1, 1, 1, 0], [0] * 4], "int32"),
        "input_type_ids": np.array([[0, 0, 1, 0], [0] * 4], "int32"),
    }
    for part in text_states([STATES[:, :4]], [{}], inputs):
        assert real(part) == [[], []]


def test_texts_that_were_encoded_apart_stay_as_they_are():
    encoded = [{"mask": "one"}, {"mask": "other"}]
    assert text_states(["a", "b"], encoded, None) == [("a", "one"), ("b", "other")]
    assert text_states(["a", "b"], encoded, {"character_ids": 0}) == [("a", "one"), ("b", "other")]


def test_without_a_mix_the_top_layer_is_read():
    assert input_states([{"layers": ["bottom", "top"], "mask": 0}]) == ["top"]


def test_the_segments_of_a_real_pair_are_its_pieces():
    encoder = ta.HubEncoder("bert_small", trainable=False)
    task = ta.Task("pair_classification", labels=["no", "yes"])
    pairs = [("A man sleeps .", "Nobody is awake , it seems ."), ("one", "two")]
    inputs = next(iter(ta.batches(pairs, task, encoder, shuffle=False)))["a"]
    ids = inputs["input_word_ids"][..., None]
    tokenize = encoder.preprocessor.tokenize
    for position, part in enumerate(text_states([ids], [{}], inputs)):
        assert real(part) == tokenize([pair[position] for pair in pairs]).to_list()


def test_texts_that_were_read_apart_lose_their_special_tokens():
    # [CLS] a a [SEP], and a row of padding; [CLS] b [SEP] and padding, [CLS] b b [SEP].
    first, second = STATES[:, :4], STATES[:, 3:]
    masks = [[[True] * 4, [False] * 4], [[True] * 3 + [False], [True] * 4]]
    encoded = [{"mask": tf.constant(mask)} for mask in masks]
    a, b = text_states([first, second], encoded, {"input_type_ids": None})
    assert real(a) == [[1, 2], []]
    assert real(b) == [[4], [11, 12]]
