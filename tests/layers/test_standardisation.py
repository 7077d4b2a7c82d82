"""Standardisation against scikit-learn, and the head that reads it against NumPy."""

import keras
import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from tf_adapt.errors import DataError, TrainingError
from tf_adapt.heads.linear import LinearHead
from tf_adapt.layers.standardisation import Standardisation

TEXTS, LAYERS, WIDTH = 40, 3, 5


@pytest.fixture
def vectors():
    random = np.random.default_rng(2)
    scales, means = random.uniform(0.01, 30, size=(2, 1, LAYERS, WIDTH))
    values = random.normal(size=(TEXTS, LAYERS, WIDTH)) * scales + means
    values[:, 1, 2] = 7.3  # the same in all texts
    return values.astype("float32")


def adapted(batches, **options):
    layer = Standardisation(**options)
    layer.build((None, LAYERS, WIDTH))
    layer.adapt(batches)
    return layer


def test_as_scikit_learn_whatever_the_order_of_the_batches(vectors):
    layer = adapted(np.array_split(vectors, 7))
    scaler = StandardScaler().fit(vectors.reshape(TEXTS, -1))
    np.testing.assert_allclose(layer.mean.numpy().ravel(), scaler.mean_, rtol=1e-6)
    np.testing.assert_allclose(layer.deviation.numpy().ravel(), scaler.scale_, rtol=1e-6)
    expected = scaler.transform(vectors.reshape(TEXTS, -1)).reshape(vectors.shape)
    np.testing.assert_allclose(layer(vectors), expected, atol=1e-5)
    assert layer.is_set and layer.trainable_weights == []
    shuffled = adapted(np.array_split(np.random.default_rng(3).permutation(vectors), 3))
    for weight, other in zip(layer.weights, shuffled.weights, strict=True):
        np.testing.assert_array_equal(weight.numpy(), other.numpy())


def test_a_feature_that_never_varies_stays_finite(vectors):
    layer = adapted([vectors])
    assert layer.deviation.numpy()[1, 2] == 1
    other = vectors.copy()
    other[:, 1, 2] += 0.5
    np.testing.assert_allclose(layer(other)[:, 1, 2], 0.5, atol=1e-5)
    alone = adapted([vectors[:1]], dtype="mixed_bfloat16")
    assert alone(vectors).dtype == "bfloat16" and np.isfinite(np.asarray(alone(vectors))).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_has_no_mean_is_refused(vectors, value):
    vectors[3, 1, 2] = value
    with pytest.raises(TrainingError, match="head_scaled: expected finite vectors"):
        adapted([vectors])
    with pytest.raises(DataError, match="head_scaled: expected training texts"):
        adapted([])


@pytest.mark.parametrize("mixed", [True, False])
def test_the_head_pools_then_scales_then_mixes(mixed):
    random = np.random.default_rng(4)
    layers = [random.normal(size=(6, 4, WIDTH)).astype("float32") for _ in range(LAYERS)]
    mask = np.arange(4) < np.array([4, 2, 1, 3, 4, 2])[:, None]
    head = LinearHead(2, dropout=0.0, pooling="mean", mixed=mixed, scaled=True)
    encoded = [{"layers": layers, "mask": mask}]
    head(encoded)
    real = mask[..., None]
    means = [(layer * real).sum(1) / real.sum(1) for layer in layers[0 if mixed else -1 :]]
    head.scaling.adapt([np.stack(means, axis=1)])
    head.dense.kernel.assign(random.normal(size=(WIDTH, 2)))
    weights = [1.0]
    if mixed:
        head.mix.start_from([0.3, -0.2, 0.9], 1.4)
        weights = 1.4 * np.exp([0.3, -0.2, 0.9]) / np.exp([0.3, -0.2, 0.9]).sum()
    scaled = [StandardScaler().fit_transform(of_layer) for of_layer in means]
    vector = sum(weight * of_layer for weight, of_layer in zip(weights, scaled, strict=True))
    expected = vector @ head.dense.kernel.numpy() + head.dense.bias.numpy()
    np.testing.assert_allclose(head(encoded), expected, atol=1e-4)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(head))
    assert again.head_inputs == head.head_inputs and again.head_inputs.pooling == "mean"
