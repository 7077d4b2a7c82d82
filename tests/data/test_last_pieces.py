"""Where words end in real rows: of sentences, cut words, parts of sentences, document windows."""

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.data.batches import batches_from, prepare
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.packing.last_pieces import with_last_piece
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.tasks.task import Task

TAGS = Task("tagging", labels=["O", "B-PER", "I-PER"])


@pytest.fixture(scope="module")
def bert(tiny_bert):
    """Every letter is a piece; `the`, `what`, `is`, `who` and `where` are one."""
    return HubEncoder(tiny_bert, trainable=False)


def sentences(*texts: str) -> list[TaggedSentence]:
    return [TaggedSentence(tuple(text.split()), document=0) for text in texts]


def words_of(inputs: dict, handle) -> list[str]:
    """The words of each row, put together from the pieces between their ends."""
    vocabulary = (handle / "vocab.txt").read_text("utf-8").splitlines()
    found = []
    for ids, firsts, lasts in zip(
        *(inputs[name].numpy() for name in ("input_word_ids", "first_piece", "last_piece")),
        strict=True,
    ):
        pieces = [vocabulary[number].removeprefix("##") for number in ids]
        np.testing.assert_array_equal(firsts == -1, lasts == -1)
        ends = [ends for ends in zip(firsts, lasts, strict=True) if ends[0] >= 0]
        found.append(" ".join("".join(pieces[first : last + 1]) for first, last in ends))
    return found


def rows(texts, encoder, handle, **options) -> list[str]:
    prepared = prepare(sentences(*texts), TAGS, encoder, **options)
    everyone = tf.range(len(prepared.lengths), dtype=tf.int64)
    return words_of(prepared.packed_inputs(everyone)["a"], handle)


@pytest.mark.parametrize("document_context", [False, True])
@pytest.mark.parametrize("max_length", [None, 9, 14])
def test_words_begin_and_end_where_their_pieces_do(bert, tiny_bert, document_context, max_length):
    texts = ["a bc the abcde", "abcd", "what is abc d", "who"]
    found = rows(texts, bert, tiny_bert, max_length=max_length, document_context=document_context)
    if max_length != 9:
        assert found == texts
    assert " ".join(found) == " ".join(texts)  # sentences of more than 7 pieces are in parts


@pytest.mark.parametrize("document_context", [False, True])
def test_a_word_that_is_cut_ends_at_the_limit(bert, tiny_bert, document_context):
    found = rows(
        ["a abcdefgh b"],
        bert,
        tiny_bert,
        max_length=6,
        truncate=True,
        document_context=document_context,
    )
    assert " ".join(found) == "a abcd b"


def test_padding_has_no_place(bert, tiny_bert):
    prepared = prepare(sentences("ab c", "d"), TAGS, bert)
    (inputs,) = batches_from(prepared, 2, shuffle=False)
    np.testing.assert_array_equal(inputs["a"]["first_piece"], [[1, 3], [1, -1]])
    np.testing.assert_array_equal(inputs["a"]["last_piece"], [[2, 3], [1, -1]])
    assert inputs["a"]["last_piece"].dtype == tf.int32


def test_rows_without_words():
    words = tf.ragged.constant([[[5, 6]], []], dtype=tf.int32, ragged_rank=2)
    inputs = with_last_piece({"first_piece": tf.constant([[1], [-1]])}, words)
    np.testing.assert_array_equal(inputs["last_piece"], [[2], [-1]])
    nobody = with_last_piece({"first_piece": tf.zeros([1, 0], tf.int32)}, words[1:])
    assert nobody["last_piece"].shape == (1, 0)


def test_inputs_with_one_state_a_word_stay_as_they_are():
    inputs = {"character_ids": tf.zeros([1, 1, 50], tf.int32)}
    assert with_last_piece(inputs, tf.ragged.constant([[[1] * 50]])) is inputs
