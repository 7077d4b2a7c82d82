"""What each head reads of a frozen encoder: enough for the same outputs, and no more."""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from small_data import RECORDS, TASKS

import tf_adapt as ta
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.encoder.feature_cache import kept_parts, with_features
from tf_adapt.heads.linear import LinearHead
from tf_adapt.heads.max_pooling import MaxPoolingHead
from tf_adapt.heads.sentence_pair import SentencePairHead
from tf_adapt.heads.tagger import Tagger
from tf_adapt.layers.head_inputs import EVERYTHING, HeadInputs, head_inputs_of

TEXT, PAIR, TAGS = "classification", "pair_classification", "tagging"
# Head, its arguments, kind of task, encoder, how pairs are read, and what is kept: name and rows of
# the first example, "a man sings": 1 + 3 + 5 pieces and 2 special ones, or 3 words.
BY_NAME = [
    ("linear", {}, TEXT, "bert", None, {"all_mean": 1}),
    ("linear", {"head_scaled": False}, TEXT, "bert", None, {"pooled": 1}),
    ("linear", {"head_pooling": "last"}, TEXT, "elmo", None, {"all_last": 1}),
    ("max_pooling", {"head_pooling": "first"}, PAIR, "bert", "separate", {"all_first": 1}),
    ("infersent", {}, PAIR, "bert", "separate", {"pooled": 1}),
    ("skip_thoughts", {"head_pooling": "mean"}, PAIR, "bert", "separate", {"all": 11}),
    ("bi_attention", {}, PAIR, "elmo", None, {"all": 3}),
    ("linear_tagger", {}, TAGS, "bert", None, {"all": 11}),
]
# Of every layer, all positions: nothing but the pooled vector is left out.
WHOLE = [
    ("linear", {"head_pooling": "mean", "head_scaled": False}, TEXT, "bert"),
    ("linear", {}, TEXT, "elmo"),
    ("skip_thoughts", {"head_pooling": "max"}, PAIR, "elmo"),
    ("bcn", {"head_units": 4}, TEXT, "bert"),
    ("concat_pooling", {}, TEXT, "bert"),
]
BY_LAYER = [
    (lambda: LinearHead(2, pooling="last"), TEXT, "bert", {"top_last": 1}),
    (lambda: MaxPoolingHead(2), TEXT, "bert", {"top_max": 1}),
    (lambda: MaxPoolingHead(2, pair=True), PAIR, "bert", {"top": 16}),
    (lambda: SentencePairHead(2, pooling="mean"), PAIR, "elmo", {"top_mean": 1}),
    (lambda: Tagger(3), TAGS, "elmo", {"top": 3}),
]
TOP_ALONE = [
    (LinearHead(2, pooling="mean"), HeadInputs("top", False, "mean")),
    (LinearHead(2, pooling="max"), HeadInputs("top", False, "max")),
    (MaxPoolingHead(2, pooling="mean"), HeadInputs("top", False, "mean")),
]


@pytest.fixture(scope="module")
def encoders(shallow_bert, tiny_elmo):
    handles = {"bert": shallow_bert, "elmo": tiny_elmo}
    found = {(name, None): ta.HubEncoder(path, trainable=False) for name, path in handles.items()}
    found["bert", "separate"] = ta.HubEncoder(shallow_bert, trainable=False, pairs="separate")
    return found


def outputs(model, data):
    """Of all examples, from texts in the batch that they are encoded in: by length."""
    inputs, _ = data.batch(tf.constant(np.argsort(data.lengths, kind="stable"), tf.int64))
    return model(inputs, training=False).numpy()


def check(model, data, expected):
    encoder, reads = model.encoder, head_inputs_of(model.head)
    kept = with_features(data, encoder, head_inputs=reads)
    assert {one.part.name: one.lengths[0] for one in kept.features[0]} == expected
    found = outputs(model, kept)
    np.testing.assert_array_equal(found, outputs(model, with_features(data, encoder)))
    np.testing.assert_allclose(found, outputs(model, data), rtol=1e-5, atol=1e-5)
    assert np.ptp(found) > 1e-3
    numbers = sum(
        one.lengths.sum() * np.prod(one.part.shape) for column in kept.features for one in column
    )
    _, megabytes = kept_parts(data, encoder, reads, "float32")
    assert megabytes * len(kept.features) == pytest.approx(numbers * 4 / 1e6)


@pytest.mark.slow
@pytest.mark.parametrize("case", BY_NAME, ids=lambda case: " ".join(map(str, case[:5])))
def test_heads_by_name(encoders, case):
    name, arguments, kind, family, pairs, expected = case
    encoder = encoders[family, pairs]
    model = ta.build_model(TASKS[kind], encoder, name, **arguments)
    spread_out(model)
    check(model, prepare(RECORDS[kind], TASKS[kind], encoder), expected)


@pytest.mark.slow
@pytest.mark.parametrize("case", BY_LAYER, ids=lambda case: f"{case[1]} {case[3]}")
def test_heads_on_the_top_layer(encoders, case):
    make, kind, family, expected = case
    encoder = encoders[family, None]
    model = ta.build_model(TASKS[kind], encoder, make())
    spread_out(model)
    check(model, prepare(RECORDS[kind], TASKS[kind], encoder), expected)


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: " ".join(map(str, case)))
def test_heads_that_read_all_of_it(encoders, case):
    name, arguments, kind, family = case
    model = ta.build_model(TASKS[kind], encoders[family, None], name, **arguments)
    assert head_inputs_of(model.head) == HeadInputs("all", pooled=False)


def test_heads_that_read_a_pool_of_the_top():
    for head, expected in TOP_ALONE:
        assert head_inputs_of(head) == expected


def spread_out(model):
    """Weights of a head that differ visibly between texts and between layers."""
    random = np.random.default_rng(0)
    for weight in model.head.weights:
        values = random.normal(size=weight.shape)
        weight.assign(np.abs(values) if weight.name == "moving_variance" else values)


def test_a_head_of_ones_own_may_read_everything(encoders):
    assert head_inputs_of(tf.keras.layers.Dense(2)) == EVERYTHING
    data = prepare(RECORDS[TEXT], TASKS[TEXT], encoders["bert", None])
    kept = with_features(data, encoders["bert", None])
    assert [one.part.name for one in kept.features[0]] == ["all", "pooled"]


def test_sixty_thousand_pooled_vectors_need_92_megabytes():
    encoder = ta.HubEncoder("bert_small", trainable=False)
    few = prepare(RECORDS[TEXT], TASKS[TEXT], encoder)
    data = replace(few, lengths=np.full(60_000, 16))
    for reads, dtype, expected in (
        (HeadInputs(None), "float32", 60_000 * 384 * 4),
        (HeadInputs(None), "bfloat16", 60_000 * 384 * 2),
        (HeadInputs("all", pooled=False), "float32", 60_000 * 16 * 4 * 384 * 4),
        (HeadInputs("all", False, "first"), "float16", 60_000 * 4 * 384 * 2),
    ):
        assert kept_parts(data, encoder, reads, dtype)[1] == pytest.approx(expected / 1e6)
