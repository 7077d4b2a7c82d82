"""Poolings by name in every head: by pencil, or as a part of the published combination."""

import keras
import numpy as np
import pytest

from tf_adapt.errors import ConfigError
from tf_adapt.heads.bcn import BCN
from tf_adapt.heads.bi_attention import BiAttentionHead
from tf_adapt.heads.esim import ESIM
from tf_adapt.heads.kinds import kinds_of
from tf_adapt.heads.linear import LinearHead
from tf_adapt.heads.max_pooling import MaxPoolingHead
from tf_adapt.heads.names import SIMILARITY_HEADS
from tf_adapt.heads.sentence_pair import SentencePairHead
from tf_adapt.heads.similarity import SimilarityHead
from tf_adapt.heads.table import HEADS, build_head
from tf_adapt.heads.tagger import Tagger
from tf_adapt.layers.pooling import POOLINGS
from tf_adapt.tasks.task import Task

WIDTH = 2
# [CLS] a a [SEP] b [SEP] and padding; [CLS] a [SEP] b b [SEP] of junk that counts nowhere.
ROW = np.array([[[90, -9], [1, -2], [3, -4], [91, -8], [5, -1], [92, -7], [1e9, 1e9]]], "float32")
JOINT = {
    "input_mask": np.array([[1, 1, 1, 1, 1, 1, 0]], "int32"),
    "input_type_ids": np.array([[0, 0, 0, 0, 1, 1, 0]], "int32"),
}
SINGLE = JOINT | {"input_type_ids": np.zeros((1, 7), "int32")}
OF_ROW = {"first": [90, -9], "last": [92, -7], "mean": [3, -7 / 3], "max": [5, -1]}
WORDS = np.array([[[1, -2], [3, -4], [1e9, 1e9]]], "float32")
OF_WORDS = {"first": [1, -2], "last": [3, -4], "mean": [2, -3], "max": [3, -2]}
TASKS = {
    kind: Task(kind, labels)
    for kind, labels in (
        ("classification", ["no", "yes"]),
        ("pair_classification", ["no", "yes"]),
        ("tagging", ["O", "B-X"]),
    )
}


def text(states, length, layers=2) -> dict:
    mask = np.arange(states.shape[1])[None] < length
    others = [np.zeros_like(states)] * (layers - 1)
    return {"layers": [*others, states], "mask": mask, "pooled": np.full((1, WIDTH), 7.0)}


def features(head, *arguments) -> np.ndarray:
    """What the head's last layer gets, by a head with an identity for a kernel."""
    head(*arguments)
    size = head.dense.kernel.shape[0]
    head = type(head).from_config(head.get_config() | {"num_outputs": size})
    head(*arguments)
    head.dense.set_weights([np.eye(size), np.zeros(size)])
    return head(*arguments).numpy()[0]


@pytest.mark.parametrize(("pooling", "expected"), OF_ROW.items())
def test_linear_reads_the_row_as_one(pooling, expected):
    found = features(LinearHead(2, pooling=pooling), [text(ROW, 6)], JOINT)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    mixed = LinearHead(2, pooling=pooling, mixed=True)
    found = features(mixed, [text(ROW, 6)], JOINT)
    np.testing.assert_allclose(found, np.array(expected) / 2, rtol=1e-6)  # a layer of zeros beside


def test_linear_without_a_pooling_reads_the_pooled_vector():
    head = LinearHead(2, mixed=True)
    np.testing.assert_array_equal(features(head, [text(ROW, 6)], JOINT), [7, 7])
    assert head.mix is None


def test_linear_on_a_single_text():
    found = features(LinearHead(2, pooling="max"), [text(ROW, 6)], SINGLE)
    np.testing.assert_array_equal(found, [91, -1])  # positions 1 to 4


@pytest.mark.parametrize("pooling", POOLINGS)
def test_max_pooling_on_words(pooling):
    found = features(MaxPoolingHead(2, pooling=pooling), [text(WORDS, 2)])
    np.testing.assert_array_equal(found, OF_WORDS[pooling])


@pytest.mark.parametrize("pooling", POOLINGS)
def test_max_pooling_on_two_rows(pooling):
    """Of `[CLS] a a [SEP]` the first state is that of [CLS]; means leave it out."""
    apart = [text(ROW[:, :4], 4), text(ROW[:, 3:6], 3)]
    inputs = {"input_mask": np.ones((1, 4), "int32"), "input_type_ids": np.zeros((1, 4), "int32")}
    first = {"first": [90, -9], "last": [91, -8]}.get(pooling, OF_WORDS[pooling])
    second = {"first": [91, -8], "last": [92, -7]}.get(pooling, [5, -1])
    head = MaxPoolingHead(2, pair=True, compared=False, pooling=pooling)
    np.testing.assert_allclose(features(head, apart, inputs), [*first, *second])


@pytest.mark.parametrize("pooling", POOLINGS)
def test_vectors_of_two_texts_are_pooled(pooling):
    """`[CLS] a a [SEP]` and `[CLS] b [SEP]` of a BERT; the words of an ELMo."""
    second = np.array([[[80, -3], [5, -1], [81, -4], [1e9, 1e9]]], "float32")
    rows = [text(ROW[:, :4], 4), text(second, 3)]
    inputs = {"input_mask": np.ones((1, 4), "int32"), "input_type_ids": np.zeros((1, 4), "int32")}
    u = {"first": [90, -9], "last": [91, -8], "mean": [2, -3], "max": [3, -2]}[pooling]
    v = {"first": [80, -3], "last": [81, -4]}.get(pooling, [5, -1])
    u, v = np.array(u, "float32"), np.array(v, "float32")
    compared = [*np.abs(u - v), *(u * v)]
    found = features(SentencePairHead(2, pooling=pooling), rows, inputs)
    np.testing.assert_allclose(found, compared, rtol=1e-6)
    found = features(SentencePairHead(2, features="infersent", pooling=pooling), rows, inputs)
    np.testing.assert_allclose(found, [*u, *v, *compared], rtol=1e-6)
    mixed = features(SentencePairHead(2, pooling=pooling, mixed=True), rows, inputs)
    half = [*np.abs(u - v) / 2, *(u * v / 4)]  # a layer of zeros beside
    np.testing.assert_allclose(mixed, half, rtol=1e-6)
    u = np.array(OF_WORDS[pooling], "float32")
    found = features(SentencePairHead(2, pooling=pooling), [text(WORDS, 2), text(WORDS, 1)])
    v = WORDS[0, 0]
    np.testing.assert_allclose(found, [*np.abs(u - v), *(u * v)], rtol=1e-6)


def test_max_pooling_on_a_joint_row():
    head = MaxPoolingHead(2, pair=True, compared=False, pooling="mean")
    np.testing.assert_array_equal(features(head, [text(ROW, 6)], JOINT), [2, -3, 5, -1])
    for pooling in ("first", "last"):
        head = MaxPoolingHead(2, pair=True, pooling=pooling)
        with pytest.raises(ConfigError, match=f"pooling: {pooling} is the state at one end"):
            head([text(ROW, 6)], JOINT)


def expected_matches(a, b) -> np.ndarray:
    """ESIM's `[a; ã; a − ã; a ⊙ ã]` in float64."""
    scores = a.astype("float64") @ b.T
    aligned = (np.exp(scores) / np.exp(scores).sum(1, keepdims=True)) @ b
    return np.concatenate([a, aligned, a - aligned, a * aligned], axis=1)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_bi_attention_against_numpy(pooling):
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 1, 4, 3)).astype("float32")
    found = features(BiAttentionHead(2, pooling=pooling), [text(a, 3), text(b, 2)])
    pool = {"first": lambda m: m[0], "last": lambda m: m[-1], "mean": lambda m: m.mean(0)}.get(
        pooling, lambda m: m.max(0)
    )
    of_a, of_b = expected_matches(a[0, :3], b[0, :2]), expected_matches(b[0, :2], a[0, :3])
    np.testing.assert_allclose(found, [*pool(of_a), *pool(of_b)], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_a_pool_of_esim_and_bcn_is_a_part_of_the_published_ones(pooling):
    """With zeros for all other pools the published head gives the same."""
    keras.utils.set_random_seed(0)
    a, b = np.random.default_rng(0).normal(size=(2, 2, 1, 4, 3)).astype("float32")
    texts = [{"layers": list(one), "mask": np.arange(4)[None] < n} for one, n in ((a, 3), (b, 2))]
    for make, given, dense, pools in (
        (ESIM, texts, lambda head: head.hidden, ["mean", "max"] * 2),
        (BCN, texts[:1], lambda head: head.maxouts[0].dense, ["max", "min", "mean", "attended"]),
    ):
        published, ours = make(2, units=5), make(2, units=5, pooling=pooling)
        published(given), ours(given)
        kernel, bias = dense(published).get_weights()
        parts = np.split(kernel, len(pools))
        chosen = [part for part, name in zip(parts, pools, strict=True) if name == pooling]
        kept = [part * (name == pooling) for part, name in zip(parts, pools, strict=True)]
        dense(published).set_weights([np.concatenate(kept), bias])
        first = [weight.numpy() for weight in published.weights]
        sizes = [tuple(weight.shape) for weight in ours.weights]
        values = dict(zip([weight.path for weight in published.weights], first, strict=True))
        for weight in ours.weights:
            weight.assign(
                np.concatenate(chosen)
                if weight is dense(ours).kernel
                else values[weight.path.replace(ours.name, published.name, 1)]
            )
        assert [tuple(weight.shape) for weight in ours.weights] == sizes
        np.testing.assert_allclose(ours(given), published(given), rtol=1e-5)


@pytest.mark.parametrize(
    ("word_pieces", "expected"),
    [("first", [1, -2]), ("last", [91, -8]), ("mean", [95 / 3, -14 / 3]), ("max", [91, -2])],
)
def test_a_tagger_reads_a_word_from_its_pieces(word_pieces, expected):
    pieces = {"first_piece": np.array([[1, 4]]), "last_piece": np.array([[3, 4]])}
    found = features(Tagger(2, word_pieces=word_pieces), [text(ROW, 6)], pieces)
    np.testing.assert_allclose(found, [expected, [5, -1]], rtol=1e-6)


def test_names_reach_every_head():
    for name, row in HEADS.items():
        if (
            "span_extraction" in kinds_of(name) or name == "concat_pooling"
        ):  # every piece; three ways
            continue
        on_vectors = row.layer in (SentencePairHead, SimilarityHead)
        kind = next(kind for kind in kinds_of(name) if kind in TASKS)
        key = "word_pieces" if kind == "tagging" else "pooling"
        for family in ("bert", "elmo"):
            options = {key: "mean", "joint": not on_vectors}
            head = build_head(name, TASKS[kind], family, True, **options)
            assert getattr(head, key) == "mean"
            if on_vectors and family == "elmo":  # has no pooled vector
                continue
            published = build_head(name, TASKS[kind], family, False, joint=not on_vectors)
            defaults = {"word_pieces": "first"} | dict.fromkeys(SIMILARITY_HEADS, "mean")
            default = defaults.get(name, defaults.get(key))
            is_max = isinstance(published, MaxPoolingHead)
            assert getattr(published, key) == ("max" if is_max else default)


@pytest.mark.parametrize(
    ("name", "kind", "options", "message"),
    [
        ("linear", "classification", {"word_pieces": "mean"},
         "head_word_pieces: expected none for classification, got mean; it is for tagging"),
        ("crf", "tagging", {"pooling": "mean"},
         "head_pooling: expected none for the head crf, which labels each word, got mean"),
        ("bcn", "classification", {"pooling": "sum"},
         "head_pooling: expected one of first, last, mean, max, got 'sum'"),
        ("crf", "tagging", {"word_pieces": "all"},
         "head_word_pieces: expected one of first, last, mean, max, got 'all'"),
        ("max_pooling", "pair_classification", {"pooling": "first"},
         "head_pooling: first is the state at one end of a row, and both texts are one row"),
    ],
)  # fmt: skip
def test_what_a_head_does_not_take(name, kind, options, message):
    with pytest.raises(ConfigError, match=message):
        build_head(name, TASKS[kind], "bert", True, **options)


def test_layers_refuse_other_names_and_numbers():
    for make in (BCN, ESIM, BiAttentionHead, LinearHead, MaxPoolingHead, SentencePairHead):
        message = "pooling: expected one of first, last, mean, max, got"
        with pytest.raises(ValueError, match=message):
            make(2, pooling="sum")
        with pytest.raises(ValueError, match="num_outputs: expected 1 for regression, got 2"):
            make(2, regression=True)
    with pytest.raises(ValueError, match="word_pieces: expected one of first, last, mean, max"):
        Tagger(2, word_pieces="sum")
