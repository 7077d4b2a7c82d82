"""Contrastive tuning: which pairs, which losses, which head, and what cannot be tuned so."""

import itertools
import shutil
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_models import without_dropout
from sklearn.linear_model import LogisticRegression

import tf_adapt as ta
from tf_adapt.data.batches import batches_from, prepare
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.heads.linear import LinearHead
from tf_adapt.heads.similarity import SimilarityHead
from tf_adapt.models.contrastive.contrasts import cosines
from tf_adapt.models.contrastive.fitted_heads import fit_line, fit_logistic
from tf_adapt.models.contrastive.losses import SCALE, cosent, cosine_error
from tf_adapt.models.contrastive.pairs import drawn_pairs, steps_of_pairs

TASK = ta.Task("classification", labels=["no", "yes"])
SCORES = ta.Task("pair_regression", label_range=(0.0, 5.0))
TEXTS = ["a good film", "b", "what is the time", "who is the man", "is it", "what a day it is"]
LABELS = ["yes", "no", "yes", "no", "yes", "no"]
RATED = [
    (one, two, 5.0 * number / 2)
    for number, (one, two) in enumerate(zip(TEXTS[:3], TEXTS[3:], strict=True))
]


@pytest.fixture(scope="module")
def calm(shallow_bert, tmp_path_factory):
    """A BERT without dropout."""
    module = tmp_path_factory.mktemp("calm") / "bert"
    shutil.copytree(shallow_bert, module)
    return without_dropout(module)


def made(module, task=TASK, rate=1e-2, iterations=3, **more):
    encoder = ta.HubEncoder(str(module), trainable=True, **more.pop("encoder", {}))
    model = ta.build_model(task, encoder, adaptation=ta.contrastive(iterations), **more)
    model.compile(keras.optimizers.SGD(rate), loss=task.loss, metrics=task.metrics)
    return model


def test_each_text_has_as_many_pairs_of_both_kinds():
    labels = np.array([0, 1, 1, 0, 2, 1, 3])
    pairs = drawn_pairs(labels, iterations=50, seed=3, epoch=0)
    assert np.bincount(pairs.first).tolist() == [100] * 7
    np.testing.assert_array_equal(labels[pairs.first] == labels[pairs.second], pairs.equal == 1)
    assert pairs.equal.mean() == 0.5
    itself = pairs.first == pairs.second
    assert set(pairs.first[itself]) == {4, 6}  # the only ones of their labels
    # Every pair that there can be is drawn, either way round.
    drawn = set(zip(pairs.first[~itself], pairs.second[~itself], strict=True))
    assert drawn == set(itertools.permutations(range(7), 2))
    again, other = (drawn_pairs(labels, 50, 3, epoch) for epoch in (0, 1))
    np.testing.assert_array_equal(again.second, pairs.second)
    assert (other.second != pairs.second).any()
    assert drawn_pairs(np.zeros(3, int), 2, 0, 0).equal.tolist() == [1] * 6


def test_the_pairs_of_a_text_are_in_many_batches():
    """Of texts of quite different lengths."""
    labels, lengths = np.arange(16) % 2, 2 ** np.arange(16)
    prepared = SimpleNamespace(targets=tf.constant(labels), lengths=lengths)
    steps = steps_of_pairs(prepared, 20, 16, seed=1, epoch=0)
    assert [len(first) for first, _, _ in steps] == [16] * 40
    # A text begins 40 of 640 pairs: a batch without one has a chance of (1 − 1/16)^16, 36 %.
    batches = [sum(text in first for first, _, _ in steps) for text in range(16)]
    assert min(batches) >= 18  # of 25.8 expected, deviation 3


def test_losses_against_their_sums():
    cosines, scores = np.array([0.9, -0.2, 0.4, 0.1], np.float32), [3.0, 1.0, 3.0, 2.0]
    equal = np.array([1.0, 0.0, 0.0, 1.0], np.float32)
    assert float(cosine_error(equal, cosines)) == pytest.approx(np.mean((cosines - equal) ** 2))
    total = 1.0
    for i, j in itertools.permutations(range(4), 2):
        if scores[i] > scores[j]:
            total += np.exp(SCALE * (cosines[j] - cosines[i]))
    assert float(cosent(scores, cosines)) == pytest.approx(np.log(total), rel=1e-6)
    assert float(cosent([1.0, 1.0], cosines[:2])) == 0


@pytest.mark.parametrize("known", [[0, 1], [0, 1, 2], [1, 2]])
def test_the_head_is_scikit_learns_regression(known):
    random = np.random.default_rng(0)
    vectors = random.normal(size=(30, 5)).astype("float32")
    labels = np.array(known)[random.integers(len(known), size=30)]
    head = LinearHead(max(known) + 1)
    encoded = [{"layers": [tf.zeros([30, 1, 5])], "pooled": tf.constant(vectors)}]
    head(encoded)
    fit_logistic(head, vectors, labels)
    expected = np.zeros((30, max(known) + 1))
    expected[:, known] = (
        LogisticRegression(max_iter=1000).fit(vectors, labels).predict_proba(vectors)
    )
    np.testing.assert_allclose(tf.nn.softmax(head(encoded)), expected, atol=1e-5)
    with pytest.raises(DataError, match="at least two labels .* got one"):
        fit_logistic(head, vectors, np.ones(30, int))


def test_the_line_is_that_of_least_squares():
    head = SimilarityHead(1, regression=True)
    head.build([{"pooled": (None, 4)}, {"pooled": (None, 4)}])
    cosines, scores = np.array([0.1, 0.5, 0.6, 0.9]), np.array([1.0, 2.0, 4.0, 4.0])
    fit_line(head, cosines, scores)
    slope, intercept = np.polyfit(cosines, scores, 1)
    np.testing.assert_allclose([w.numpy().item() for w in head.weights], [slope, intercept], 1e-5)


@pytest.mark.slow
def test_a_step_is_the_gradient_of_the_pairs(calm):
    """One step with plain gradient descent, against a tape around the vectors by hand."""
    model = made(calm, rate=0.5)
    data = ta.batches((TEXTS, LABELS), TASK, model.encoder, batch_size=64, seed=5)
    pairs = drawn_pairs(np.array([TASK.labels.index(label) for label in LABELS]), 3, 5, 0)
    head = [weight.numpy() for weight in model.head.weights]
    with tf.GradientTape() as tape:
        encoded = model.encoder(TEXTS, training=True)
        top, mask = encoded["layers"][-1], encoded["mask"]
        count = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
        # Without [CLS] and [SEP].
        words = [tf.reduce_mean(row[1 : n - 1], axis=0) for row, n in zip(top, count, strict=True)]
        unit = tf.math.l2_normalize(tf.stack(words), axis=-1)
        cosines = tf.reduce_sum(tf.gather(unit, pairs.first) * tf.gather(unit, pairs.second), -1)
        loss = tf.reduce_mean((cosines - pairs.equal) ** 2)
    weights = model.trainable_weights
    gradients = tape.gradient(loss, [weight.value for weight in weights])
    expected = [
        weight.numpy() - 0.5 * tf.convert_to_tensor(gradient)
        for weight, gradient in zip(weights, gradients, strict=True)
    ]
    history = model.fit(data, validation_data=data, verbose=0).history
    assert history["loss"] == pytest.approx([float(loss)], rel=1e-5)
    assert "val_accuracy" in history and "accuracy" not in history
    for weight, value in zip(weights, expected, strict=True):
        np.testing.assert_allclose(weight.numpy(), value, atol=1e-5, err_msg=weight.path)
    # The head is that of the encoder as it is now.
    fitted = [weight.numpy() for weight in model.head.weights]
    assert any((a != b).any() for a, b in zip(head, fitted, strict=True))
    model.end_epoch(prepare((TEXTS, LABELS), TASK, model.encoder))
    for weight, value in zip(model.head.weights, fitted, strict=True):
        np.testing.assert_allclose(weight.numpy(), value, atol=1e-6)


@pytest.mark.slow
def test_pairs_with_scores(calm):
    model = made(calm, SCORES, encoder={"pairs": "separate"})
    prepared = prepare(RATED, SCORES, model.encoder)
    inputs, scores = prepared.batch(np.arange(len(RATED)))
    before = float(cosent(scores, cosines(model, inputs)))
    history = model.fit(batches_from(prepared, batch_size=8), verbose=0).history
    assert history["loss"] == pytest.approx([before], rel=1e-4)
    after = cosines(model, inputs).numpy()
    slope, intercept = np.polyfit(after, scores, 1)
    np.testing.assert_allclose(model(inputs), slope * after + intercept, atol=1e-3)


REFUSED = [
    ({"task": ta.Task("tagging", labels=["O", "B-A"])}, "contrastive is for classification and"),
    ({"head": "bcn"}, "head: expected default or linear with contrastive"),
    ({"head_pooling": "mean", "head_mixed": True}, "head_mixed: expected none with contrastive"),
]


@pytest.mark.parametrize(("more", "message"), REFUSED)
def test_what_cannot_be_tuned_so(shallow_bert, more, message):
    with pytest.raises(ConfigError, match=message):
        made(shallow_bert, **more)


def test_made_again_and_what_it_cannot_be_fitted_on(shallow_bert):
    model = made(shallow_bert)
    again = type(model).from_config(model.get_config())
    assert again.adaptation.pairs == 3 and not again.head.trainable
    data = ta.batches((TEXTS, LABELS), TASK, model.encoder)
    weighed = ta.batches((TEXTS, LABELS), TASK, model.encoder, sample_weight=[1.0] * 6)
    for given in (data.take(1), weighed, ta.batches(TEXTS, TASK, model.encoder)):
        with pytest.raises(ConfigError, match="labelled examples without weights from ta.batches"):
            model.fit(given)
    with pytest.raises(ConfigError, match="class_weight: expected none with contrastive"):
        model.fit(data, class_weight="balanced")
    tasks = {"a": TASK, "b": TASK}
    with pytest.raises(ConfigError, match="another than contrastive for several tasks"):
        ta.build_multi_task_model(tasks, model.encoder, adaptation="contrastive")
