"""Texts in, an encoder's inputs out, in one call; whatever is no text is refused."""

import string

import keras
import numpy as np
import pandas
import pytest
import tensorflow as tf

from hub_modules.preprocess import BertPreprocessor, ElmoPreprocessor, ElmoTokensPreprocessor
from tf_adapt.errors import ConfigError, DataError

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIAL, *string.ascii_lowercase, *(f"##{c}" for c in string.ascii_lowercase)]
TEXTS = ["a bc", "d"]


@pytest.fixture(scope="module")
def bert():
    return BertPreprocessor(VOCABULARY, lower_case=True)


def same(one: dict, other: dict) -> bool:
    return set(one) == set(other) and all(
        np.array_equal(one[name].numpy(), other[name].numpy()) for name in one
    )


def test_every_form_of_texts_gives_what_tokenizing_and_packing_gives(bert):
    for texts in [
        TEXTS,
        [text.encode() for text in TEXTS],
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pandas.Series(TEXTS, index=[7, 3]),
        tf.constant(TEXTS),
    ]:
        for preprocessor in (bert, ElmoPreprocessor(), ElmoTokensPreprocessor()):
            expected = preprocessor.pack([preprocessor.tokenize(tf.constant(TEXTS))])
            assert same(preprocessor(texts), expected)


def test_pairs_are_packed_jointly(bert):
    second = ["e", "f g h"]
    expected = bert.pack([bert.tokenize(TEXTS), bert.tokenize(second)])
    assert same(bert((TEXTS, second)), expected)
    assert same(bert((tf.constant(TEXTS), np.array(second))), expected)
    with pytest.raises(ConfigError, match="ELMo reads one text at a time"):
        ElmoPreprocessor()((TEXTS, second))


def test_no_texts_give_no_rows(bert):
    assert bert([])["input_word_ids"].shape == (0, 2)


def test_too_long_inputs_are_refused_or_cut(bert):
    texts = ["a b", "a b c d"]
    assert bert(texts, max_length=6)["input_word_ids"].shape == (2, 6)
    with pytest.raises(DataError, match=r"at most 5 positions.*got 6 at \[1\]; shorten.*truncate"):
        bert(texts, max_length=5)
    cut = bert(texts, max_length=5, truncate=True)
    assert same(cut, bert(["a b", "a b c"]))
    with pytest.raises(DataError, match=r"at most 3 positions.*got 4 at \[1\]"):
        ElmoPreprocessor()(texts, max_length=3)
    assert ElmoPreprocessor()(texts, 3, truncate=True)["character_ids"].shape == (2, 3, 50)


def test_it_runs_in_a_dataset_with_the_same_checks(bert):
    dataset = tf.data.Dataset.from_tensor_slices(((TEXTS, ["e", "f g h"]), [1, 0])).batch(2)

    def mapped(**options):
        return next(iter(dataset.map(lambda texts, label: (bert(texts, **options), label))))

    inputs, labels = mapped(max_length=6, truncate=True)
    assert same(inputs, bert((TEXTS, ["e", "f g h"]), max_length=6, truncate=True))
    assert labels.numpy().tolist() == [1, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 6 positions"):
        mapped(max_length=6)


def test_pairs_of_unequal_number_are_refused_in_a_graph_too(bert):
    with pytest.raises(DataError, match="one text of each for every pair, got 2 and 1"):
        bert((TEXTS, ["e"]))
    in_graph = tf.function(lambda first, second: bert((first, second)), autograph=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="one text of each for every pair"):
        in_graph(tf.constant(TEXTS), tf.constant(["e"]))


def test_what_is_no_texts_is_refused(bert):
    for texts, message in [
        ("a text", "texts: expected texts.*got one text, 'a text'; put it into a list"),
        (["a", None], r"got NoneType at \[1\], None"),
        (["a", float("nan")], r"got float at \[1\], nan"),
        ([["a", "b"], ["c"]], r"got list at \[0\], \['a', 'b'\]"),
        (np.array([["a", "b"]]), r"got ndarray at \[0\]"),
        (np.array("a"), "got ndarray"),
        ({"text": ["a"]}, "got dict"),
        (7, "got int"),
        (tf.constant("a"), r"got a tensor string of shape \(\)"),
        (
            tf.constant([1.0]),
            r"a tensor float32 of shape \(1,\); let a Keras model begin with keras",
        ),
        (tf.ragged.constant([["a"], ["b", "c"]]), r"got a tensor string of shape \(2, None\)"),
        (keras.Input((), dtype="string"), "got a keras.Input; give it to the encoder itself"),
        (("a", "b", "c"), "a tuple is for pairs; expected .texts_a, texts_b.*got a tuple of 3"),
        (("a", "b"), "texts_a: expected texts.*got one text, 'a'"),
        ((["a"], [2]), r"texts_b: expected texts.*got int at \[0\], 2"),
    ]:
        with pytest.raises(DataError, match=message):
            bert(texts)
