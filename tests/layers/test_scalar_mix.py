"""The mix of layers by pencil, its penalty, and several mixes over one encoder's run."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.layers.scalar_mix import ScalarMix

LAYERS = [np.array([[[1.0, 3.0], [9.0, 9.0]]], "float32"), np.full([1, 2, 2], 5.0, "float32")]
MASK = np.array([[True, False]])


def test_the_mix_starts_as_the_plain_mean():
    mix = ScalarMix()
    np.testing.assert_allclose(mix(LAYERS, MASK)[0, 0], [3.0, 4.0])
    np.testing.assert_allclose(mix.layer_weights, [0.5, 0.5])
    assert float(mix.gamma) == 1.0


def test_the_mix_by_pencil():
    mix = ScalarMix()
    mix(LAYERS, MASK)
    mix.scalars.assign([np.log(3.0), 0.0])
    mix.gamma.assign(2.0)
    np.testing.assert_allclose(mix.layer_weights, [0.75, 0.25], rtol=1e-6)
    np.testing.assert_allclose(mix(LAYERS, MASK)[0, 0], [4.0, 7.0], rtol=1e-6)


def test_the_layer_norm_sees_real_positions_of_the_whole_batch_only():
    layer = np.array([[[0.0, 2.0], [1e6, -1e6]], [[4.0, 6.0], [2.0, 4.0]]], "float32")
    mask = np.array([[True, False], [True, True]])
    real = layer[mask].astype("float64")
    expected = (real - real.mean()) / real.std()
    np.testing.assert_allclose(
        tf.boolean_mask(ScalarMix(layer_norm=True)([layer], mask), mask), expected, rtol=1e-6
    )


def test_a_batch_of_nothing_but_padding_stays_finite():
    found = ScalarMix(layer_norm=True)(LAYERS, np.zeros((1, 2), bool))
    assert np.isfinite(found).all()


def test_the_penalty_pulls_towards_equal_weights():
    mix = ScalarMix(l2=0.1)
    mix(LAYERS, MASK)
    mix.scalars.assign([1.0, -2.0])
    np.testing.assert_allclose(sum(mix.losses), 0.1 * 5.0, rtol=1e-6)
    assert not ScalarMix().losses


def test_another_number_of_layers_is_refused():
    mix = ScalarMix()
    mix(LAYERS, MASK)
    with pytest.raises(ValueError, match="layers: expected 2, as many as at first, got 1"):
        mix(LAYERS[:1], MASK)


def test_two_mixes_over_one_run_learn_apart(tiny_elmo):
    encoder = ta.HubEncoder(tiny_elmo, trainable=False)
    task = ta.Task("classification", labels=["no", "yes"])
    (inputs, _) = next(iter(ta.batches([("a small film", "yes")], task, encoder)))
    encoded = encoder(inputs["a"])
    mixes = [ScalarMix(), ScalarMix()]
    with tf.GradientTape() as tape:
        first, _ = (mix(encoded["layers"], encoded["mask"]) for mix in mixes)
        loss = tf.reduce_sum(first**2)
    found = tape.gradient(loss, [mixes[0].scalars.value, mixes[1].scalars.value])
    assert found[0].shape == (encoder.num_layers,)
    assert np.any(found[0])
    assert found[1] is None


def test_the_weights_stay_exact_in_half_precision():
    mix = ScalarMix(dtype="mixed_bfloat16")
    assert mix(LAYERS, MASK).dtype == "bfloat16"
    assert mix.scalars.dtype == mix.gamma.dtype == "float32"
    mix.gamma.assign(1 + 2**-12)
    assert float(keras.ops.convert_to_tensor(mix.gamma)) == 1 + 2**-12
