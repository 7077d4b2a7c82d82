"""Adversarial perturbations against the closed form of a linear model."""

import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from hub_modules.native.given_states import PERTURBATION
from tf_adapt.models.signals.adversarial import adversarial_perturbations, noise

TASK = ta.Task("classification", labels=["no", "yes"])
TIME, WIDTH, EPSILON = 3, 4, 0.05


@pytest.fixture
def linear():
    """Embeddings and weights; the last position of the second row is padding."""
    random = np.random.default_rng(1)
    return {
        "states": random.normal(0, 1, (2, TIME, WIDTH)).astype("float32"),
        "weights": random.normal(0, 1, (TIME, WIDTH)).astype("float32"),
        "mask": np.array([[True] * 3, [True, True, False]]),
    }


def perturbations(linear, seed=(1, 2), **more):
    mask = linear["mask"][..., None].astype("float32")

    def encoder(inputs, training):
        assert training is False
        return {"layers": [inputs["states"]], "mask": tf.constant(linear["mask"])}

    def outputs_of(texts, training):
        assert training is False
        one = texts["a"]
        states = (one["states"] + one.get(PERTURBATION, 0.0)) * mask
        score = tf.reduce_sum(states * linear["weights"], axis=(1, 2))
        return tf.stack([tf.zeros_like(score), score], axis=-1)

    texts = {"a": {"states": tf.constant(linear["states"])}}
    given = (TASK, texts, encoder, outputs_of, tf.constant(seed), EPSILON)
    return adversarial_perturbations(*given, **more)["a"]


def test_the_direction_is_that_of_the_weights(linear):
    """∇_d KL(p(x) ‖ p(x + d)) = (σ(z + d·w) − σ(z)) · w: along w, to the side of d."""
    found = perturbations(linear)
    np.testing.assert_array_equal(found["states"], linear["states"])
    mask = linear["mask"][..., None]
    weights = linear["weights"][None] * mask
    sizes = EPSILON * np.sqrt(((linear["states"] * mask) ** 2).sum((1, 2), keepdims=True))
    draws = tf.random.stateless_normal((TIME, WIDTH), [1, 2]).numpy()
    sides = np.sign((draws * weights).sum((1, 2), keepdims=True))
    expected = sides * sizes * weights / np.sqrt((weights**2).sum((1, 2), keepdims=True))
    np.testing.assert_allclose(found[PERTURBATION], expected, rtol=1e-3, atol=1e-6)
    assert (found[PERTURBATION].numpy()[1, 2] == 0).all()


def test_noise_has_its_length_where_there_is_text(linear):
    mask = linear["mask"]

    def encoder(inputs, training):
        assert training is False
        return {"layers": [inputs["states"]], "mask": tf.constant(mask)}

    texts = {"a": {"states": tf.constant(linear["states"])}}
    found = noise(texts, encoder, tf.constant((1, 2)), EPSILON)["a"][PERTURBATION].numpy()
    drawn = tf.random.stateless_normal((TIME, WIDTH), [1, 2]).numpy() * mask[..., None]
    sizes = EPSILON * np.sqrt(((linear["states"] * mask[..., None]) ** 2).sum((1, 2)))
    lengths = np.sqrt((drawn**2).sum((1, 2)))
    np.testing.assert_allclose(found, drawn * (sizes / lengths)[:, None, None], rtol=1e-5)
    assert (found[1, 2] == 0).all()


def test_a_flat_model_is_not_perturbed(linear):
    linear["weights"][:] = 0
    assert (perturbations(linear)[PERTURBATION].numpy() == 0).all()
