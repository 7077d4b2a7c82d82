"""Mean states against the states of single texts, one by one and unit by unit."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.analysis.states import layer_numbers, pooled_states
from tf_adapt.data.formats import Record
from tf_adapt.data.in_memory.records import in_memory_records
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.serving.prediction.predict import encode
from tf_adapt.tasks.task import Task

TEXTS = ["who is ann?", "the", "what is the 3 ' about - or not", "is the a"]
SINGLE = Task("classification", labels=["no", "yes"])
PAIR = Task("pair_classification", labels=["no", "yes"])


@pytest.fixture(scope="module")
def bert(shallow_bert):
    return HubEncoder(shallow_bert, trainable=False)


@pytest.fixture(scope="module")
def elmo(tiny_elmo):
    return HubEncoder(tiny_elmo, trainable=False)


def records(pairs: bool) -> list[Record]:
    seconds = reversed(TEXTS) if pairs else [None] * len(TEXTS)
    return [Record(first, second, "no") for first, second in zip(TEXTS, seconds, strict=True)]


def means(encoder, task) -> np.ndarray:
    return pooled_states(
        encoder, prepare(records(task.kind.startswith("pair_")), task, encoder), batch_size=3
    )


def test_bert_reads_a_pair_as_one_row(bert):
    found = means(bert, PAIR)
    special = bert.preprocessor.special_token_ids
    for number, record in enumerate(records(True)):
        units = [bert.preprocessor.tokenize([text]) for text in (record.text_a, record.text_b)]
        inputs = bert.preprocessor.pack(units)
        ids = inputs["input_word_ids"].numpy()[0]
        words = ~np.isin(ids, [special["start_of_sequence_id"], special["end_of_segment_id"]])
        assert words.sum() == len(ids) - 3
        for layer, states in enumerate(bert(inputs)["layers"]):
            expected = states.numpy()[0][words].mean(axis=0)
            np.testing.assert_allclose(found[layer, number], expected, atol=1e-5)


@pytest.mark.slow
def test_elmo_compares_the_means_of_a_pair(elmo):
    first = np.stack([states.mean(axis=1) for states in encode(elmo, TEXTS)], axis=1)
    second = first[:, ::-1]
    expected = np.concatenate([np.abs(first - second), first * second], axis=-1)
    np.testing.assert_allclose(means(elmo, PAIR), expected, atol=1e-5)


def test_layers_are_counted_from_the_embeddings(bert, elmo):
    assert layer_numbers(bert) == [0, 1]
    assert layer_numbers(elmo) == [0, 1, 2]
    # Programs from elsewhere do not give out their embeddings (see hub_modules/test_load.py).
    program = SimpleNamespace(family="bert", layer_groups=bert.layer_groups, num_layers=1)
    assert layer_numbers(program) == [1]


# Of all rows, and of those of words.
POOLINGS = {
    "mean": lambda states, words: words.mean(axis=1),
    "first": lambda states, words: states[:, 0],
    "last": lambda states, words: states[:, -1],
    "max": lambda states, words: words.max(axis=1),
}


@pytest.mark.slow
def test_poolings_of_a_row(bert, elmo):
    """BERT's rows begin with [CLS] and end with [SEP], which are in no mean and no maximum; ELMo's
    have no boundaries."""
    for encoder, words in ((bert, slice(1, -1)), (elmo, slice(None))):
        alone = encode(encoder, TEXTS)
        prepared = prepare(records(False), SINGLE, encoder)
        for pooling, pool in POOLINGS.items():
            expected = [pool(states, states[:, words]) for states in alone]
            size = 3 if pooling == "mean" else len(TEXTS)  # padded as its batch, or as all
            found = pooled_states(encoder, prepared, pooling, batch_size=size)
            assert found.shape == (len(alone[0]), len(TEXTS), encoder.output_width)
            np.testing.assert_allclose(found, np.stack(expected, axis=1), atol=1e-5)


@pytest.mark.slow
def test_words_in_the_order_of_the_sentences(bert):
    """`is`, `the` and each letter are a piece: words of one to five pieces."""
    sentences = [["is", "about", "the"], ["a"], ["the", "not", "or", "who", "is"]]
    expected = {"first": [], "last": [], "mean": [], "max": []}
    for words in sentences:
        pieces = bert.preprocessor.tokenize_words(tf.ragged.constant([words]))
        layers = np.stack(bert(bert.preprocessor.pack_words(pieces))["layers"])[:, 0]
        start = 1
        for length in pieces.values.row_lengths().numpy():
            own = layers[:, start : start + length]
            expected["first"].append(own[:, 0])
            expected["last"].append(own[:, -1])
            expected["mean"].append(own.mean(axis=1))
            expected["max"].append(own.max(axis=1))
            start += length
    task = Task("tagging", labels=["O", "B-X"])
    data = [(words, ["O"] * len(words)) for words in sentences]
    prepared = prepare(in_memory_records(data, task), task, bert)
    for word_pieces, states in expected.items():
        size = 2 if word_pieces == "mean" else len(sentences)  # padded as its batch, or as all
        found = pooled_states(bert, prepared, word_pieces=word_pieces, batch_size=size)
        np.testing.assert_allclose(found, np.stack(states, axis=1), atol=1e-5)
