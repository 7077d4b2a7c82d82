"""Distillation: no pull while the encoder is its source; against NumPy once it is not."""

import numpy as np
import pytest
import tensorflow as tf
from adapted_encoders import adapted
from language_models import (
    bert,
    bert_inputs,
    elmo,
    elmo_inputs,
    log_softmax,
    numpy_states,
    random_weights,
    tiny_elmo,
    with_output_layer,
)

import tf_adapt as ta
from tf_adapt.models.signals.distillation import Distillation, distillation_objective
from tf_adapt.tasks.losses import LanguageModelLoss


def made(family, with_output):
    """Student, objective, inputs."""
    if family == "bert":
        (source, objective), (student, _), inputs = bert(), bert(), bert_inputs()
    else:
        (source, objective), student, inputs = elmo(), tiny_elmo(), elmo_inputs()
    return student, Distillation(source, objective.output_layer if with_output else None), inputs


def gradients(student, distillation, inputs):
    with tf.GradientTape() as tape:
        losses = distillation(
            inputs, encoder=student, encoded=student(inputs, training=True), training=True
        )
        loss = LanguageModelLoss()(None, losses)
    return losses.numpy(), [
        np.asarray(tf.convert_to_tensor(one))
        for one in tape.gradient(loss, [weight.value for weight in student.native.weights])
        if one is not None
    ]


@pytest.mark.parametrize("with_output", [True, False])
@pytest.mark.parametrize("family", ["bert", "elmo"])
def test_no_pull_at_the_start(family, with_output):
    student, distillation, inputs = made(family, with_output)
    assert distillation.trainable_weights == []
    _, found = gradients(student, distillation, inputs)
    assert len(found) > 10
    assert max(np.abs(one).max() for one in found) < 1e-6
    random_weights(student.native, seed=8)
    _, found = gradients(student, distillation, inputs)
    assert max(np.abs(one).max() for one in found) > 1e-3


@pytest.mark.parametrize("family", ["bert", "elmo"])
def test_states_against_numpy(family):
    student, distillation, inputs = made(family, with_output=False)
    random_weights(student.native, seed=8)
    losses, _ = gradients(student, distillation, inputs)
    theirs, ours = (hub(inputs) for hub in (distillation.source, student))
    difference = (theirs["layers"][-1].numpy() - ours["layers"][-1].numpy()).astype("float64")
    expected = np.where(ours["mask"].numpy(), (difference**2).mean(-1), -1.0)
    np.testing.assert_allclose(losses, expected, atol=1e-5)


def test_cross_entropy_of_pieces_against_numpy():
    student, distillation, inputs = made("bert", with_output=True)
    random_weights(student.native, seed=8)
    losses, _ = gradients(student, distillation, inputs)
    _, objective = bert()
    table = distillation.source.native.embeddings.word_embeddings.numpy().astype("float64")
    log_p = []
    for hub in (distillation.source, student):
        states, bias = numpy_states(objective, hub(inputs)["layers"][-1].numpy().astype("float64"))
        log_p.append(log_softmax(states @ table.T + bias))
    expected = -(np.exp(log_p[0]) * log_p[1]).sum(-1)
    mask = inputs["input_mask"].numpy() > 0
    np.testing.assert_allclose(losses, np.where(mask, expected, -1.0), atol=1e-4)


def test_cross_entropy_of_words_against_numpy():
    student, distillation, inputs = made("elmo", with_output=True)
    random_weights(student.native, seed=8)
    losses, _ = gradients(student, distillation, inputs)
    kernel, bias = (w.numpy().astype("float64") for w in distillation.output_layer.weights)
    log_p = []
    for hub in (distillation.source, student):
        states = hub(inputs)["layers"][-1].numpy().astype("float64").reshape(3, 3, 2, 6)
        log_p.append(log_softmax(states @ kernel.T + bias))
    expected = -(np.exp(log_p[0]) * log_p[1]).sum(-1)
    mask = np.array([[1, 1, 1], [1, 0, 0], [0, 0, 0]], bool)[..., None]
    np.testing.assert_allclose(losses, np.where(mask, expected, -1.0), atol=1e-5)


def test_the_source_is_the_module_and_no_part_of_the_model(tiny_bert, tmp_path):
    encoder = ta.HubEncoder(with_output_layer(tiny_bert, tmp_path / "bert"))
    before = encoder.native.pooler.kernel.numpy()
    encoder.native.pooler.kernel.assign(before + 1)
    distillation = distillation_objective(encoder)
    assert distillation.weights == [] and distillation.output_layer is not None
    np.testing.assert_array_equal(distillation.source.native.pooler.kernel.numpy(), before)
    assert encoder.trainable_groups and not distillation.source.trainable_groups
    copy = Distillation.from_config(distillation.get_config())
    for one, other in zip(
        copy.output_layer.weights, distillation.output_layer.weights, strict=True
    ):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    # A layer that was fitted afterwards has not the probabilities of the pretraining.
    for handle in ("bert_small", "elmo_small"):
        assert distillation_objective(ta.HubEncoder(handle)).output_layer is None


def test_the_source_has_no_adapters(tiny_bert):
    encoder = adapted(ta.adapters(size=2), tiny_bert)
    assert distillation_objective(encoder).source.added is None
