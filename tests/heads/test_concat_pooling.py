"""ULMFiT's classifier against NumPy in float64: its batch statistics and their moving averages."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.errors import ConfigError
from tf_adapt.heads.concat_pooling import ConcatPoolingHead

WIDTH, EPSILON = 4, 1e-5
LENGTHS = np.array([5, 1, 3, 4])
CONFIG = {"num_outputs": 3, "hidden_width": 6, "dropout": 0.0, "hidden_dropout": 0.0}


def encoded(extra=0, seed=3):
    """Two layers of four texts, with junk at padding."""
    random = np.random.default_rng(seed)
    layers = []
    for _ in range(2):
        states = random.normal(size=(4, 5, WIDTH))
        states[np.arange(5) >= LENGTHS[:, None]] = 1e3
        padding = ((0, 0), (0, extra), (0, 0))
        layers.append(np.pad(states, padding, constant_values=-1e3).astype("float32"))
    return [{"layers": layers, "mask": np.arange(5 + extra) < LENGTHS[:, None]}]


def made(seed=0, **changes):
    keras.utils.set_random_seed(seed)
    head = ConcatPoolingHead(**CONFIG | changes)
    head(encoded())
    random = np.random.default_rng(seed)
    for weight in head.weights:
        weight.assign(np.abs(random.normal(0.5, 0.3, weight.shape)))
    return head


def features():
    states = encoded()[0]["layers"][-1].astype("float64")
    texts = [row[:length] for row, length in zip(states, LENGTHS, strict=True)]
    return np.array([[*text[-1], *text.max(0), *text.mean(0)] for text in texts])


def block(values, norm, layer, training):
    """Of one block: its output before relu, and the batch's mean and variance."""
    gamma, beta, moving_mean, moving_variance = (w.numpy().astype("float64") for w in norm.weights)
    mean, variance = values.mean(0), values.var(0)
    used = (mean, variance) if training else (moving_mean, moving_variance)
    normed = (values - used[0]) / np.sqrt(used[1] + EPSILON) * gamma + beta
    kernel, bias = (weight.numpy().astype("float64") for weight in layer.weights)
    return normed @ kernel + bias, (mean, variance)


@pytest.mark.parametrize("training", [True, False])
def test_logits_and_moving_averages_against_numpy(training):
    head = made()
    before = [weight.numpy() for norm in head.norms for weight in norm.non_trainable_weights]
    inner, first = block(features(), head.norms[0], head.hidden, training)
    expected, second = block(np.maximum(inner, 0), head.norms[1], head.dense, training)
    logits = head(encoded(), training=training)
    assert logits.dtype == "float32"
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-4)
    assert np.ptp(expected, axis=0).min() > 0.1
    moving = [weight for norm in head.norms for weight in norm.non_trainable_weights]
    for weight, old, batch in zip(moving, before, (*first, *second), strict=True):
        new = 0.9 * old + 0.1 * batch if training else old
        np.testing.assert_allclose(weight, new, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_padding_and_a_graph_change_nothing(training):
    expected = made()(encoded(), training=training)
    head = made()
    found = tf.function(lambda: head(encoded(extra=7), training=training))()
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_text_without_a_word_and_a_batch_of_one():
    head = made()
    empty = encoded()
    empty[0]["mask"] = np.zeros_like(empty[0]["mask"])
    assert np.isfinite(head(empty, training=True)).all()
    one = [
        {"layers": [layer[:1] for layer in encoded()[0]["layers"]], "mask": np.ones((1, 5), bool)}
    ]
    assert np.isfinite(head(one, training=True)).all()


def test_the_gradient_reaches_every_trainable_weight():
    head = made(mixed=True)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(head(encoded(), training=True)[:, 0] ** 2)
    assert len(head.trainable_weights) == 10 and len(head.weights) == 14
    for gradient in tape.gradient(loss, head.trainable_weights):
        assert np.isfinite(gradient).all()


def test_the_published_rates_stand_between_norms_and_dense_layers():
    # FACTS K: batch normalisation, dropout 0.4, linear 50; then again with dropout 0.1.
    head = ConcatPoolingHead(3)
    assert (head.hidden_width, head.dropout, head.hidden_dropout) == (50, 0.4, 0.1)
    plain, first, second = made(), made(dropout=0.99999), made(hidden_dropout=0.99999)
    for head in (first, second):
        np.testing.assert_array_equal(plain(encoded()), head(encoded()))
    logits = [head(encoded(), training=True).numpy() for head in (plain, first, second)]
    # Without features each text's hidden layer is its bias: alike, normalised to beta.
    beta = first.norms[1].weights[1].numpy()
    alike = beta @ first.dense.kernel.numpy() + first.dense.bias.numpy()
    np.testing.assert_allclose(logits[1], np.tile(alike, (4, 1)), atol=1e-4)
    np.testing.assert_allclose(logits[2], np.tile(second.dense.bias, (4, 1)), atol=1e-4)
    # What is dropped was normalised before.
    for dropped, norms in ((first, 1), (second, 2)):
        for one, other in zip(plain.norms[:norms], dropped.norms[:norms], strict=True):
            np.testing.assert_allclose(one.moving_mean, other.moving_mean, rtol=1e-5)


def test_in_half_precision_it_is_nearly_the_same():
    half = made(dtype="mixed_bfloat16")
    logits = half(encoded())
    assert logits.dtype == "float32"
    np.testing.assert_allclose(logits, made()(encoded()), atol=0.3)


def test_the_config_is_complete():
    changed = {"num_outputs": 1, "hidden_width": 7, "dropout": 0.2, "hidden_dropout": 0.3}
    head = ConcatPoolingHead(**changed, mixed=True, regression=True, name="mine")
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(head))
    assert again.get_config() == head.get_config()
    assert head(encoded()).shape == (4,)
    with pytest.raises(ValueError, match="num_outputs: expected 1 for regression, got 2"):
        ConcatPoolingHead(2, regression=True)


@pytest.mark.slow
def test_a_model_keeps_its_averages_and_answers_alike(shallow_bert, tmp_path):
    task = ta.Task("classification", labels=["no", "yes"])
    encoder = ta.HubEncoder(shallow_bert)
    model = ta.build_model(task, encoder, "concat_pooling", "fine_tuning")
    optimizer = keras.optimizers.AdamW(1e-2)
    model.compile(optimizer, task.loss, metrics=task.metrics, run_eagerly=True)
    examples = [("who is the", "no"), ("what", "yes"), ("where is what", "yes"), ("a", "no")]
    model.fit(ta.batches(examples, task, encoder, batch_size=2), epochs=2, verbose=0)
    averages = [w.numpy() for norm in model.head.norms for w in norm.non_trainable_weights]
    assert all(
        np.abs(one - start).max() > 0 for one, start in zip(averages, (0, 1, 0, 1), strict=True)
    )
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    texts = [text for text, _ in examples]
    assert ta.predict(loaded, texts) == ta.predict(model, texts)
    with pytest.raises(ConfigError, match="head_pooling: expected none for the head concat_pool"):
        ta.build_model(task, encoder, "concat_pooling", head_pooling="mean")
