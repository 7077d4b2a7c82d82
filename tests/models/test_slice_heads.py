"""Heads of slices: a loss on members alone, which reaches the encoder and no other head."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.data.batches import prepare
from tf_adapt.data.packing.prepared import SLICE_TARGETS
from tf_adapt.models.signals.slice_heads import SliceHeads

TEXTS = ["who is it", "what", "where is the man", "a man sings"]
LABELS = [0, 1, 2, 1]
# Nobody here is in the last slice.
MEMBERS = np.array([[0, -1, -1], [1, 1, -1], [-1, 2, -1], [-1, 1, -1]], "int32")


@pytest.fixture
def model(shallow_bert):
    keras.utils.set_random_seed(0)
    task = ta.Task("classification", labels=["a", "b", "c"])
    auxiliaries = [SliceHeads(["x", "y", "z"])]
    encoder = ta.HubEncoder(shallow_bert, trainable=True)
    made = ta.build_model(task, encoder, "linear", auxiliaries=auxiliaries, head_dropout=0.0)
    made.compile(keras.optimizers.SGD(0.1), task.loss, metrics=task.metrics, run_eagerly=True)
    return made


@pytest.fixture
def batch(model):
    records = list(zip(TEXTS, LABELS, strict=True))
    inputs, targets = prepare(records, model.task, model.encoder).batch(np.arange(4))
    inputs["a"][SLICE_TARGETS] = tf.constant(MEMBERS)
    return inputs, targets


def encoded_and_logits(model, inputs):
    """The states that the heads read, without dropout, and each head's logits."""
    encoded = [model.encoder(inputs["a"], training=False)]
    heads = model.auxiliaries[0].heads
    return encoded, [np.array(head(encoded, inputs["a"]), "float64") for head in heads]


def gradients(model, batch):
    """Of the whole loss, by the id of the weight, without the encoder's dropout."""
    inputs, targets = batch
    with tf.GradientTape() as tape:
        encoded = [model.encoder(inputs["a"], training=False)]
        logits = model.head(encoded, inputs["a"], training=True)
        loss = model.compute_loss(inputs, targets, logits, training=True)
        loss += model.auxiliaries[0](inputs, encoder=model.encoder, encoded=encoded, training=True)
    found = tape.gradient(loss, model.trainable_weights)
    return {
        id(weight): None if gradient is None else tf.convert_to_tensor(gradient).numpy()
        for weight, gradient in zip(model.trainable_weights, found, strict=True)
    }


def test_the_loss_counts_members_only(model, batch):
    inputs, _ = batch
    encoded, logits = encoded_and_logits(model, inputs)
    expected = 0.0
    for number in (0, 1):
        real = MEMBERS[:, number] >= 0
        rows = logits[number][real]
        logs = rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))
        expected -= logs[np.arange(real.sum()), MEMBERS[real, number]].mean()
    found = model.auxiliaries[0](inputs, encoder=model.encoder, encoded=encoded, training=True)
    assert float(found) == pytest.approx(expected, rel=1e-5)
    # The heads are like the main one, and begin elsewhere.
    assert not np.allclose(logits[0], logits[1])
    assert [head.count_params() for head in model.auxiliaries[0].heads] == [
        model.head.count_params()
    ] * 3


def test_the_main_head_does_not_see_the_others(model, batch):
    before = gradients(model, batch)
    for weight in model.auxiliaries[0].weights:
        weight.assign(weight + np.random.default_rng(0).normal(0, 1, weight.shape))
    after = gradients(model, batch)
    assert model.head.trainable_weights
    for weight in model.head.trainable_weights:
        np.testing.assert_array_equal(after[id(weight)], before[id(weight)])
    moved = [
        np.abs(after[id(weight)] - before[id(weight)]).max()
        for weight in model.encoder.trainable_weights
        if before[id(weight)] is not None
    ]
    assert max(moved) > 1e-4
    # Of the slice without members nothing learns.
    for number, head in enumerate(model.auxiliaries[0].heads):
        largest = max(np.abs(after[id(weight)]).max() for weight in head.trainable_weights)
        assert (largest == 0) == (number == 2)


def test_the_others_do_not_predict_and_are_not_evaluated(model, batch):
    inputs, targets = batch
    before = np.array(model(inputs, training=False))
    loss = float(model.test_on_batch(inputs, targets)[0])
    for weight in model.auxiliaries[0].weights:
        weight.assign(weight + 1.0)
    np.testing.assert_array_equal(model(inputs, training=False), before)
    assert float(model.test_on_batch(inputs, targets)[0]) == loss


@pytest.mark.slow
def test_a_saved_model_has_its_heads(model, batch, tmp_path):
    model.train_on_batch(*batch)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.auxiliaries[0].slices == ["x", "y", "z"]
    for one, two in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(one, two)
