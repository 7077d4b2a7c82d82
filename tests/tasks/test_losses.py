"""Losses against NumPy in float64, with padding, weights, half precision and compilation."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.tasks.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    SpanCrossEntropy,
    SquaredError,
    soft_cross_entropy,
)


def log_softmax(logits):
    logits = logits.astype("float64")
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def value_and_gradient(loss, targets, outputs, sample_weight=None, jit_compile=None):
    @tf.function(jit_compile=jit_compile)
    def run(outputs):
        with tf.GradientTape() as tape:
            tape.watch(outputs)
            value = loss(targets, outputs, sample_weight)
        return value, tape.gradient(value, outputs)

    value, gradient = run(tf.convert_to_tensor(outputs))
    return value.numpy(), gradient.numpy()


@pytest.fixture
def tagged():
    random = np.random.default_rng(1)
    logits = random.normal(size=(3, 5, 4)).astype("float32") * 3
    targets = random.integers(0, 4, size=(3, 5)).astype("int32")
    targets[1, 2:] = -1
    targets[2, :] = -1
    return targets, logits


def expected_tagging(targets, logits, weights):
    """Value and gradient of the mean over real words, by the formulas, in float64."""
    real = targets >= 0
    logs = log_softmax(logits)
    onehot = np.eye(logits.shape[-1])[np.maximum(targets, 0)]
    value = -(logs * onehot).sum(-1)[real] @ weights[real] / real.sum()
    gradient = (np.exp(logs) - onehot) * (weights * real)[..., None] / real.sum()
    return value, gradient


@pytest.mark.parametrize("jit_compile", [None, True])
@pytest.mark.parametrize("weighting", ["none", "sentences", "words"])
def test_cross_entropy_is_the_mean_over_real_words(tagged, weighting, jit_compile):
    targets, logits = tagged
    weights, given = np.ones(targets.shape), None
    if weighting == "sentences":
        given = np.array([0.5, 2.0, 7.0], "float32")
        weights = np.broadcast_to(given[:, None], targets.shape)
    if weighting == "words":
        given = weights = np.linspace(0, 2, targets.size, dtype="float32").reshape(targets.shape)
    value, gradient = value_and_gradient(CrossEntropy(), targets, logits, given, jit_compile)
    wanted_value, wanted_gradient = expected_tagging(targets, logits, weights)
    assert value == pytest.approx(wanted_value, rel=1e-6)
    np.testing.assert_allclose(gradient, wanted_gradient, atol=1e-7)


def test_cross_entropy_of_examples_by_pencil():
    logits = np.array([[0.0, 0.0], [np.log(3.0), 0.0]], "float32")
    loss = CrossEntropy()(np.array([0, 1]), logits)
    assert float(loss) == pytest.approx((np.log(2) + np.log(4)) / 2, rel=1e-6)
    weighted = CrossEntropy()(np.array([0, 1]), logits, np.array([[0.0], [1.0]]))
    assert float(weighted) == pytest.approx(np.log(4) / 2, rel=1e-6)
    column = CrossEntropy()(np.array([[0], [1]]), logits)
    assert float(column) == float(loss)


@pytest.mark.parametrize("jit_compile", [None, True])
def test_n2_nothing_but_padding_gives_zero_and_a_zero_gradient(tagged, jit_compile):
    targets, logits = np.full((3, 5), -1, "int32"), tagged[1].copy()
    logits[0, 0] = np.nan
    logits[1, 1] = np.inf
    value, gradient = value_and_gradient(CrossEntropy(), targets, logits, None, jit_compile)
    assert value == 0
    np.testing.assert_array_equal(gradient, 0)


def test_an_empty_batch_gives_zero():
    assert float(CrossEntropy()(np.zeros([0], "int32"), np.zeros([0, 3], "float32"))) == 0
    assert float(SquaredError()(np.zeros([0]), np.zeros([0], "float32"))) == 0


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_outputs_are_scored_in_float32(dtype):
    logits = tf.cast([[300.0, -300.0]], dtype)
    assert CrossEntropy()([1], logits).dtype == tf.float32
    assert float(CrossEntropy()([1], logits)) == pytest.approx(600.0, rel=2e-3)
    squared = SquaredError()([0.0], tf.cast([300.0], dtype))
    assert squared.dtype == tf.float32
    assert float(squared) == pytest.approx(90_000, rel=1e-2)  # above float16's largest number


@pytest.mark.parametrize("jit_compile", [None, True])
@pytest.mark.parametrize("given", [None, np.array([0.0, 1.0, 3.0], "float32")])
def test_squared_error_on_the_targets_own_scale(given, jit_compile):
    targets = np.array([1.0, 2.0, 5.0], "float32")
    predictions = np.array([1.5, 0.0, 4.0], "float32")
    weights = np.ones(3) if given is None else given
    value, gradient = value_and_gradient(SquaredError(), targets, predictions, given, jit_compile)
    assert value == pytest.approx((weights * [0.25, 4.0, 1.0]).sum() / 3)
    np.testing.assert_allclose(gradient, weights * [1.0, -4.0, -2.0] / 3, rtol=1e-6)


def test_squared_error_never_broadcasts_a_column_of_targets():
    column = np.array([[1.0], [2.0], [5.0]], "float32")
    assert float(SquaredError()(column, column[:, 0])) == 0


@pytest.mark.parametrize("loss", [CrossEntropy(name="mine"), SquaredError(name="mine")])
def test_a_loss_survives_serialization(loss):
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert type(again) is type(loss)
    assert again.get_config() == loss.get_config() == {"name": "mine"}


def test_fit_accepts_sample_weights():
    random = np.random.default_rng(0)
    inputs = random.normal(size=(8, 3)).astype("float32")
    targets = random.integers(0, 2, size=8)
    weights = np.array([1, 0, 1, 0, 1, 0, 1, 0], "float32")
    model = keras.Sequential([keras.layers.Dense(2)])
    model.compile(keras.optimizers.SGD(0.0), loss=CrossEntropy())
    history = model.fit(inputs, targets, sample_weight=weights, batch_size=4, verbose=0)
    logs = log_softmax(model.predict(inputs, verbose=0))
    expected = -(logs[np.arange(8), targets] * weights).sum() / 8
    assert history.history["loss"][0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("jit_compile", [None, True])
@pytest.mark.parametrize("weights", [None, np.array([0.5, 2.0, 0.0, 1.0], "float32")])
def test_binary_cross_entropy_equals_keras_and_the_formula(weights, jit_compile):
    random = np.random.default_rng(4)
    logits = random.normal(size=(4, 3)).astype("float32") * 4
    targets = (random.random((4, 3)) < 0.4).astype("float32")
    targets[1] = 0  # no label at all
    value, gradient = value_and_gradient(
        BinaryCrossEntropy(), targets, logits, weights, jit_compile
    )
    keras_loss = keras.losses.BinaryCrossentropy(from_logits=True)
    assert value == pytest.approx(float(keras_loss(targets, logits, weights)), rel=1e-6)
    factor = np.ones(4) if weights is None else weights.astype("float64")
    probabilities = 1 / (1 + np.exp(-logits.astype("float64")))
    logs = targets * np.log(probabilities) + (1 - targets) * np.log(1 - probabilities)
    assert value == pytest.approx(-(logs * factor[:, None]).mean(), rel=1e-6)
    expected = (probabilities - targets) * factor[:, None] / targets.size
    np.testing.assert_allclose(gradient, expected, atol=1e-7)


def test_binary_cross_entropy_of_nothing_and_in_half_precision():
    loss = BinaryCrossEntropy()
    assert float(loss(np.zeros((0, 3)), np.zeros((0, 3), "float32"))) == 0
    assert float(loss(np.zeros((2, 3)), np.full((2, 3), -1e4, "float32"))) == 0
    logits = tf.constant([[1.5, -2.0]], tf.bfloat16)
    assert loss(np.array([[1, 0]]), logits).dtype == tf.float32
    config = keras.losses.serialize(loss)
    assert type(keras.losses.deserialize(config)) is BinaryCrossEntropy


@pytest.mark.parametrize("jit_compile", [None, True])
def test_cross_entropy_with_probabilities(jit_compile):
    random = np.random.default_rng(6)
    logits = random.normal(size=(5, 3)).astype("float32") * 4
    targets = random.dirichlet(np.ones(3), 5).astype("float32")
    targets[0] = [0, 1, 0]

    def loss(targets, outputs, sample_weight):
        return soft_cross_entropy(targets, outputs)

    value, gradient = value_and_gradient(loss, targets, logits, jit_compile=jit_compile)
    logs = log_softmax(logits)
    assert value == pytest.approx(-(targets * logs).sum(axis=1).mean(), rel=1e-6)
    np.testing.assert_allclose(gradient, (np.exp(logs) - targets) / 5, atol=1e-7)
    # Probabilities of 0 and 1 are ids.
    hard = np.eye(3, dtype="float32")[[0, 2, 1, 1, 0]]
    ids = float(CrossEntropy()(np.array([0, 2, 1, 1, 0]), logits))
    assert float(soft_cross_entropy(hard, logits)) == pytest.approx(ids, rel=1e-6)
    assert soft_cross_entropy(hard, tf.cast(logits, tf.bfloat16)).dtype == tf.float32


def test_spans_are_the_mean_of_both_ends():
    logits = np.random.default_rng(9).normal(size=(3, 5, 2)).astype("float32")
    logits[1, 3:] = -1e9  # padding
    targets = np.array([[2, 4], [0, 0], [1, 2]], "int32")
    rows = log_softmax(logits.transpose(0, 2, 1))  # [batch, end, words]
    chosen = np.take_along_axis(rows, targets[:, :, None], axis=2)[..., 0]
    value, gradient = value_and_gradient(SpanCrossEntropy(), targets, logits)
    np.testing.assert_allclose(value, -chosen.mean(), rtol=1e-6)
    assert (gradient[1, 3:] == 0).all() and np.isfinite(gradient).all()
    weighted, _ = value_and_gradient(SpanCrossEntropy(), targets, logits, np.array([1.0, 0, 2]))
    np.testing.assert_allclose(weighted, -(chosen.mean(1) * [1, 0, 2]).sum() / 3, rtol=1e-6)
