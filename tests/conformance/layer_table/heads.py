"""Heads, with their unusual settings."""

import tensorflow as tf

from layer_table.inputs import (
    CONSTRAINTS,
    LENGTHS,
    joint_pair,
    joint_sentences,
    one_text,
    text_and_pieces,
    two_texts,
)
from layer_table.row import Row, head, real_words
from tf_adapt.heads.bcn import BCN
from tf_adapt.heads.bi_attention import BiAttentionHead
from tf_adapt.heads.esim import ESIM
from tf_adapt.heads.linear import LinearHead
from tf_adapt.heads.max_pooling import MaxPoolingHead
from tf_adapt.heads.sentence_pair import SentencePairHead
from tf_adapt.heads.similarity import SimilarityHead
from tf_adapt.heads.span_extractor import SpanExtractor
from tf_adapt.heads.tagger import Tagger

THREE = {"num_outputs": 3, "dropout": 0.2}
NUMBER = {"num_outputs": 1, "dropout": 0.2, "regression": True}
BCN_DROPOUTS = {
    "dropout": 0.2,
    "encoder_dropout": 0.2,
    "pool_dropout": 0.2,
    "first_maxout_dropout": 0.3,
    "second_maxout_dropout": 0.2,
}


def tagger(config: dict, unusual: dict | None = None) -> Row:
    config = {"num_outputs": 3, "dropout": 0.2} | config
    return Row(Tagger, config, text_and_pieces, real_words(3, 2), unusual or {})


def loss_of_tags(head, encoded: list, inputs: dict, training=None):
    """What a CRF is trained with, for the tag 1 at every word."""
    targets = tf.where(inputs["first_piece"] >= 0, 1, -1)
    return head.loss(targets, head(encoded, inputs, training=training))


HEADS = {
    "LinearHead": head(
        LinearHead,
        THREE,
        one_text,
        {"num_outputs": 1, "regression": True, "pooling": "last", "mixed": True, "scaled": True},
    ),
    "LinearHead, mean of a joint pair, mixed": head(
        LinearHead, THREE | {"pooling": "mean", "mixed": True}, joint_pair
    ),
    "SentencePairHead": head(
        SentencePairHead,
        THREE,
        two_texts,
        {
            "num_outputs": 1,
            "features": "infersent",
            "regression": True,
            "pooling": "last",
            "mixed": True,
        },
    ),
    "SentencePairHead, mean, mixed": head(
        SentencePairHead, THREE | {"pooling": "mean", "mixed": True}, two_texts
    ),
    "SentencePairHead, InferSent's features, regression": head(
        SentencePairHead, NUMBER | {"features": "infersent"}, two_texts
    ),
    "SimilarityHead": head(
        SimilarityHead,
        THREE,
        two_texts,
        {
            "num_outputs": 1,
            "similarity": "euclidean",
            "score_range": (1.0, 5.0),
            "regression": True,
            "pooling": "last",
            "mixed": True,
            "scaled": True,
        },
    ),
    "SimilarityHead, distance of means, mixed, regression": head(
        SimilarityHead,
        NUMBER | {"similarity": "euclidean", "pooling": "mean", "mixed": True},
        two_texts,
    ),
    "MaxPoolingHead": head(
        MaxPoolingHead,
        THREE,
        one_text,
        {
            "num_outputs": 1,
            "pair": True,
            "compared": False,
            "mixed": True,
            "regression": True,
            "pooling": "first",
        },
    ),
    "MaxPoolingHead, regression of a pair, mixed": head(
        MaxPoolingHead, NUMBER | {"pair": True, "mixed": True}, two_texts
    ),
    "MaxPoolingHead, a joint pair that is not compared": head(
        MaxPoolingHead, THREE | {"pair": True, "compared": False}, joint_pair
    ),
    "BiAttentionHead": head(
        BiAttentionHead,
        THREE,
        two_texts,
        {"num_outputs": 1, "mixed": True, "regression": True, "pooling": "mean"},
    ),
    "BiAttentionHead, regression of a joint pair, mixed": head(
        BiAttentionHead, NUMBER | {"mixed": True}, joint_pair
    ),
    "BCN": head(
        BCN,
        {"num_outputs": 3, "units": 8} | BCN_DROPOUTS,
        one_text,
        {"num_outputs": 1, "mixed": False, "regression": True, "pooling": "mean"},
    ),
    "ESIM": head(
        ESIM,
        THREE | {"units": 4},
        two_texts,
        {"num_outputs": 1, "mixed": False, "regression": True, "pooling": "first"},
    ),
    "ESIM, regression of a joint pair, top layer": head(
        ESIM, NUMBER | {"units": 4, "mixed": False}, joint_sentences
    ),
    "SpanExtractor": Row(
        SpanExtractor,
        {"dropout": 0.2},
        text_and_pieces,
        real_words(1 + 3, 1 + 2),
        {"mixed": True, "hidden_layer": True},
    ),
    "SpanExtractor, two layers, mixed": Row(
        SpanExtractor,
        {"mixed": True, "hidden_layer": True, "dropout": 0.2},
        text_and_pieces,
        real_words(1 + 3, 1 + 2),
    ),
    "Tagger, pieces": tagger(
        {},
        {
            "lstm_layers": 1,
            "units": 4,
            "crf": True,
            "constraints": CONSTRAINTS,
            "mixed": True,
            "word_pieces": "last",
        },
    ),
    "Tagger, maximum of pieces under a BiLSTM": tagger(
        {"lstm_layers": 1, "units": 4, "word_pieces": "max"}
    ),
    "Tagger, words": Row(Tagger, THREE, one_text, real_words(*LENGTHS)),
    "Tagger, CRF": Row(
        Tagger,
        THREE | {"crf": True, "mixed": True},
        text_and_pieces,
        lambda loss: [loss],
        call=loss_of_tags,
    ),
    "Tagger, two BiLSTMs over pieces, mixed": tagger({"lstm_layers": 2, "units": 4, "mixed": True}),
}
