"""Linear heads on the vectors of two texts, against NumPy; which encoders they fit."""

import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.errors import ConfigError
from tf_adapt.heads.sentence_pair import SentencePairHead
from tf_adapt.heads.table import build_head, head_name

U, V = np.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")
ENCODED = [{"pooled": tf.constant(U)}, {"pooled": tf.constant(V)}]
NUMPY = {
    "skip_thoughts": np.concatenate([np.abs(U - V), U * V], axis=1),
    "infersent": np.concatenate([U, V, np.abs(U - V), U * V], axis=1),
}


@pytest.mark.parametrize("features", NUMPY)
def test_logits_are_those_of_numpy(features):
    head = SentencePairHead(num_outputs=2, features=features)
    head(ENCODED)
    kernel = np.random.default_rng(1).normal(size=(NUMPY[features].shape[1], 2))
    head.dense.set_weights([kernel, np.array([0.5, -1.0])])
    expected = NUMPY[features] @ kernel + np.array([0.5, -1.0])
    np.testing.assert_allclose(head(ENCODED), expected, rtol=1e-5, atol=1e-6)


def test_a_regression_is_one_number():
    head = SentencePairHead(num_outputs=1, regression=True)
    assert head(ENCODED).shape == (3,)
    assert head.output_shape == (None,)
    with pytest.raises(ValueError, match="features: expected one of skip_thoughts, infersent"):
        SentencePairHead(num_outputs=2, features="both")


PAIR = ta.Task("pair_classification", ["no", "yes"])
TEXT = ta.Task("classification", ["no", "yes"])
TAGS = ta.Task("tagging", ["O", "B-PER"])


@pytest.mark.parametrize("frozen", [True, False])
def test_a_sentence_module_has_linear_heads_by_default(frozen):
    assert head_name("default", PAIR, "sentence", frozen) == "skip_thoughts"
    assert head_name("linear", PAIR, "sentence", frozen) == "skip_thoughts"
    assert head_name("infersent", PAIR, "sentence", frozen) == "infersent"
    assert head_name("default", TEXT, "sentence", frozen) == "linear"
    assert build_head("default", PAIR, "sentence", frozen, joint=False).features == "skip_thoughts"
    assert build_head("infersent", PAIR, "sentence", frozen, joint=False).features == "infersent"


def test_word_vectors_have_elmos_heads():
    for task in (PAIR, TEXT, TAGS):
        for frozen in (True, False):
            assert head_name("default", task, "words", frozen) == head_name(
                "default", task, "elmo", frozen
            )


def test_a_sentence_module_has_nothing_to_pool():
    with pytest.raises(ConfigError, match="head_pooling: expected none for the head infersent"):
        build_head("infersent", PAIR, "sentence", True, joint=False, pooling="mean")


@pytest.mark.parametrize(
    ("name", "task", "family", "joint", "message"),
    [
        ("bcn", TEXT, "sentence", False, "bcn needs a state for each word.*default, linear"),
        ("esim", PAIR, "sentence", False, "esim needs a state.*linear, skip_thoughts, infersent"),
        ("max_pooling", PAIR, "sentence", False, "max_pooling needs a state for each word"),
        ("default", TAGS, "sentence", False, "tagging needs a state for each word.*word vectors"),
        ("crf", TAGS, "sentence", False, "tagging needs a state for each word"),
        (
            "skip_thoughts",
            PAIR,
            "elmo",
            False,
            "takes an encoder's pooled vectors.*set head_pooling",
        ),
        ("infersent", PAIR, "words", False, "takes an encoder's pooled vectors"),
        ("infersent", PAIR, "bert", True, "encoded apart; set pairs='separate'"),
        ("linear", PAIR, "bert", False, "skip_thoughts, infersent"),
        ("skip_thoughts", TEXT, "sentence", False, "for classification.*which is for pair"),
    ],
)
def test_what_an_encoder_has_not_is_said(name, task, family, joint, message):
    with pytest.raises(ConfigError, match=message):
        build_head(name, task, family, True, joint=joint)
