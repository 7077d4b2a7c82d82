"""Output layers against NumPy in float64; the sampled softmax against the whole one."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_models import log_softmax

from hub_modules.native.output_layers import (
    CHUNK,
    BiLanguageModelHead,
    MaskedLanguageModelHead,
    log_uniform_words,
)
from hub_modules.output_words import OutputWords
from hub_modules.preprocess.elmo import character_ids
from tf_adapt.errors import ArtifactError

WORDS = ["<S>", "</S>", "<UNK>", "the", "cat", "Straße", "x" * 60, "x" * 48]


def filled(layer, seed=0):
    random = np.random.default_rng(seed)
    for weight in layer.weights:
        weight.assign(random.normal(0, 0.5, weight.shape))
    return {name: weight.numpy().astype("float64") for name, weight in _named(layer)}


def _named(layer):
    return layer.weights_by_name().items()


def bi_head(num_words=50, width=4):
    head = BiLanguageModelHead(num_words, width)
    head.build()
    return head, filled(head)


def test_masked_head_against_numpy():
    for activation in ["gelu_exact", "gelu_tanh"]:
        head = MaskedLanguageModelHead(6, 9, activation)
        head.build()
        weights = filled(head)
        assert set(weights) == {
            "dense/kernel", "dense/bias", "layer_norm/gamma", "layer_norm/beta", "bias",
        }  # fmt: skip
        random = np.random.default_rng(1)
        states, table = random.normal(size=(2, 3, 6)), random.normal(size=(9, 6))
        inner = states @ weights["dense/kernel"] + weights["dense/bias"]
        if activation == "gelu_exact":
            inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        else:
            cubic = math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3)
            inner = inner * 0.5 * (1 + np.tanh(cubic))
        spread = np.sqrt(inner.var(-1, keepdims=True) + 1e-12)
        normed = (inner - inner.mean(-1, keepdims=True)) / spread
        normed = normed * weights["layer_norm/gamma"] + weights["layer_norm/beta"]
        expected = normed @ table.T + weights["bias"]
        got = head(states.astype("float32"), table.astype("float32"))
        np.testing.assert_allclose(got, expected, atol=2e-5)


def test_two_directions_against_numpy():
    head, weights = bi_head()
    states = np.random.default_rng(1).normal(size=(2, 3, 8))
    halves = states.reshape(2, 3, 2, 4)
    expected = log_softmax(halves @ weights["kernel"].T + weights["bias"])
    got = head(states.astype("float32"))
    assert got.shape == (2, 3, 2, 50)
    np.testing.assert_allclose(got, expected, atol=1e-5)


def test_whole_softmax_in_chunks():
    for count in [0, 1, 3, CHUNK, CHUNK + 5]:
        head, weights = bi_head()
        random = np.random.default_rng(2)
        states, targets = random.normal(size=(count, 4)), random.integers(0, 50, size=count)
        scores = log_softmax(states @ weights["kernel"].T + weights["bias"]) if count else states
        expected = -scores[np.arange(count), targets]
        got = head.target_losses(tf.constant(states, tf.float32), tf.constant(targets, tf.int32))
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_words_are_drawn_as_often_as_the_formula_says():
    count, number = 200_000, 30
    drawn = log_uniform_words(number, count, (5, 6)).numpy()
    share = np.log((np.arange(number) + 2) / (np.arange(number) + 1)) / np.log(number + 1)
    assert share.sum() == pytest.approx(1)
    found = np.bincount(drawn, minlength=number)
    assert len(found) == number
    deviation = np.abs(found - count * share) / np.sqrt(count * share * (1 - share))
    assert deviation.max() < 4.5
    np.testing.assert_array_equal(drawn, log_uniform_words(number, count, (5, 6)))
    assert np.any(drawn != log_uniform_words(number, count, (5, 7)))


def sampled(head, states, targets, num_samples, seed):
    return head.sampled_losses(
        tf.constant(states, tf.float32), tf.constant(targets, tf.int32), num_samples, seed
    ).numpy()


def test_sampled_losses_by_hand():
    head, weights = bi_head(num_words=7)
    states, targets, count = np.random.default_rng(3).normal(size=(2, 4)), [1, 5], 12
    words = log_uniform_words(7, count, (1, 2)).numpy()
    share = np.log((words + 2) / (words + 1)) / np.log(8)
    scores = states @ weights["kernel"].T + weights["bias"]
    expected = []
    for row, target in enumerate(targets):
        own = np.exp(scores[row, target])
        others = [
            np.exp(scores[row, word]) / (count * q)
            for word, q in zip(words, share, strict=True)
            if word != target
        ]
        expected.append(np.log((own + sum(others)) / own))
    np.testing.assert_allclose(sampled(head, states, targets, count, (1, 2)), expected, atol=1e-5)


def test_the_estimated_sum_is_unbiased_and_the_loss_comes_close():
    head, weights = bi_head()
    random = np.random.default_rng(4)
    states, targets = random.normal(size=(5, 4)), random.integers(0, 50, size=5)
    scores = states @ weights["kernel"].T + weights["bias"]
    own = np.exp(scores[np.arange(5), targets])
    wanted = np.exp(scores).sum(-1) / own
    # exp(loss) is the estimated sum over the target's own summand: its mean over many draws.
    draws = np.exp([sampled(head, states, targets, 25, (9, seed)) for seed in range(400)])
    standard_error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - wanted) < 4 * standard_error).all()
    many = sampled(head, states, targets, 200_000, (9, 9))
    np.testing.assert_allclose(many, np.log(wanted), atol=0.03)


def test_its_gradient_brings_the_whole_loss_down():
    head, _ = bi_head()
    random = np.random.default_rng(5)
    states = tf.constant(random.normal(size=(64, 4)), tf.float32)
    targets = tf.constant(random.integers(0, 50, size=64), tf.int32)
    optimizer = keras.optimizers.SGD(1.0)
    losses = [float(tf.reduce_mean(head.target_losses(states, targets)))]
    for step in range(20):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(head.sampled_losses(states, targets, 20, (0, step)))
        gradients = tape.gradient(loss, [weight.value for weight in head.weights])
        optimizer.apply_gradients(zip(gradients, head.weights, strict=True))
        losses.append(float(tf.reduce_mean(head.target_losses(states, targets))))
    assert losses[-1] < losses[0] - 0.5


def test_words_by_their_characters():
    words = OutputWords(WORDS)
    batch = [["cat", "the", "dog", "Straße", "<S>", "</S>", "<UNK>", "x" * 60, "x" * 99, "Cat"]]
    ids = words.ids(character_ids(tf.constant(batch[0]))[None])
    # What a text spells "<S>" is no boundary; of words alike in 48 bytes the first counts.
    np.testing.assert_array_equal(ids, [[4, 3, 2, 5, 2, 2, 2, 6, 6, 2]])
    assert (words.begin, words.end) == (0, 1)


def test_words_that_cannot_be():
    for words, message in [
        (WORDS[1:], "expected <S>, </S> and <UNK>, got none of <S>"),
        ([*WORDS, "the"], "'the' on line 9 is already on line 4"),
        ([*WORDS, ""], "a word on line 9, got an empty line"),
    ]:
        with pytest.raises(ArtifactError, match=message):
            OutputWords(words)
