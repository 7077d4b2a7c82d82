"""Words to ids: look-up, case, padding, and the texts of sentence modules."""

import pytest
import tensorflow as tf

from hub_modules.errors import ConfigError, DataError
from hub_modules.preprocess import SentencePreprocessor, WordsPreprocessor

WORDS = ["the", "cat", "naïve", "Paris"]


def ids(texts, lower_case=False, **options):
    return WordsPreprocessor(WORDS, lower_case)(texts, **options)["word_ids"].numpy().tolist()


def test_ids_are_places_in_the_vocabulary_after_padding_and_unknown():
    assert ids(["the naïve  cat", "", "dog\tParis."]) == [[2, 4, 3], [0, 0, 0], [1, 1, 0]]
    assert ids([""]) == [[0]]


def test_case_is_kept_or_lowered_beyond_ascii():
    assert ids(["The NAÏVE Paris"]) == [[1, 1, 5]]
    assert ids(["The NAÏVE Paris"], lower_case=True) == [[2, 4, 1]]


def test_a_word_of_a_sentence_is_one_token():
    preprocessor = WordsPreprocessor(WORDS, False)
    tokens = preprocessor.tokenize_words(tf.ragged.constant([["cat", "a b"], ["the"]]))
    assert tokens.to_list() == [[[3], [1]], [[2]]]
    assert preprocessor.pack_words(tokens)["word_ids"].numpy().tolist() == [[3, 1], [2, 0]]


def test_the_same_in_a_dataset_and_in_a_saved_module(tmp_path):
    preprocessor = WordsPreprocessor(WORDS, True)
    dataset = tf.data.Dataset.from_tensors(["The cat", "Paris"]).map(preprocessor)
    (found,) = [one["word_ids"].numpy().tolist() for one in dataset]
    assert found == [[2, 3], [1, 0]]
    module = tf.Module()
    module.preprocessor = preprocessor
    module.ids = tf.function(preprocessor, input_signature=[tf.TensorSpec([None], tf.string)])
    tf.saved_model.save(module, str(tmp_path / "m"))
    again = tf.saved_model.load(str(tmp_path / "m"))
    assert again.ids(tf.constant(["The cat", "Paris"]))["word_ids"].numpy().tolist() == found


def test_lengths_are_bounded_by_words():
    assert ids(["the cat the"], max_length=2, truncate=True) == [[2, 3]]
    with pytest.raises(DataError, match=r"at most 2 positions.*got 3 at \[0\]"):
        ids(["the cat the"], max_length=2)
    with pytest.raises(ConfigError, match="word vectors reads one text at a time"):
        ids((["the"], ["cat"]))


def test_a_sentence_module_gets_texts_as_they_are():
    preprocessor = SentencePreprocessor()
    texts = ["A  text\n", "", "ß" * 5000]
    for options in ({}, {"max_length": 1, "truncate": True}, {"max_length": 1}):
        packed = preprocessor(texts, **options)
        assert [text.decode() for text in packed["text"].numpy()] == texts
    assert preprocessor([])["text"].shape == [0]
    with pytest.raises(ConfigError, match="a sentence module reads one text at a time"):
        preprocessor((["a"], ["b"]))
    words = tf.ragged.constant([["a"]])
    for method in (preprocessor.tokenize_words, preprocessor.pack_words):
        with pytest.raises(ConfigError, match="a state for each word"):
            method(words)
