"""A SentencePiece model stays where TensorFlow drops its kernels."""

import keras
import pytest
import tensorflow as tf
from huggingface_folders import write_folder

from hub_modules.preprocess.sentence_pieces import SentencePieceTokenizer


@pytest.fixture
def content(tmp_path) -> bytes:
    return (write_folder("albert", tmp_path) / "spiece.model").read_bytes()


def test_a_seed_set_later_takes_no_model_away(content):
    texts = tf.constant(["a naïve film", "", "naïve"])
    tokenizer = SentencePieceTokenizer(content)
    in_graph = tf.function(tokenizer.tokenize)
    before, graph_before = tokenizer.tokenize(texts), in_graph(texts)
    keras.utils.set_random_seed(3)
    assert tokenizer.tokenize(texts).to_list() == before.to_list()
    assert in_graph(texts).to_list() == graph_before.to_list() == before.to_list()


def test_tokenizers_of_one_model_do_not_end_each_other(content):
    texts = tf.constant(["a naïve film"])
    first, second = SentencePieceTokenizer(content), SentencePieceTokenizer(content)
    expected = first.tokenize(texts).to_list()
    del first
    tf.random.set_seed(1)
    assert second.tokenize(texts).to_list() == expected
    assert SentencePieceTokenizer(content).tokenize(texts).to_list() == expected
