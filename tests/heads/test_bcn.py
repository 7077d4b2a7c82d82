"""The BCN head: its sizes by pencil, its second mix, and texts without words."""

import keras
import numpy as np
import tensorflow as tf

from tf_adapt.heads.bcn import BCN

UNITS, WIDTH = 3, 5
RANDOM = np.random.default_rng(0)
LAYERS = list(RANDOM.normal(size=(2, 2, 4, WIDTH)).astype("float32"))


def text(lengths=(4, 2), layers=LAYERS):
    return {"layers": layers, "mask": np.arange(4) < np.array(lengths)[:, None]}


def randomised(head, *arguments):
    head(*arguments)
    random = np.random.default_rng(1)
    for weight in head.weights:
        weight.assign(random.normal(size=weight.shape, scale=0.3))
    return head


def test_the_published_sizes():
    head = BCN(5)
    layers = [keras.KerasTensor((None, None, 8))] * 3
    head([{"layers": layers, "mask": keras.KerasTensor((None, None), "bool")}])
    lstms = 2 * (300 + 300 + 1) * 1200 + 2 * (1800 + 300 + 1) * 1200
    integrated = 600 + 8
    maxouts = (4 * integrated + 1) * 4800 + (1200 + 1) * 2400 + (600 + 1) * 20
    mixes = 2 * (3 + 1)
    assert head.count_params() == mixes + 9 * 300 + lstms + integrated + maxouts


def test_without_a_mix_the_pools_see_the_integrator_alone():
    head = BCN(5, mixed=False)
    layers = [keras.KerasTensor((None, None, 8))] * 3
    head([{"layers": layers, "mask": keras.KerasTensor((None, None), "bool")}])
    assert head.maxouts[0].dense.kernel.shape == (2400, 4800)
    assert head.self_attention.kernel.shape == (600, 1)


def test_the_second_mix_stands_beside_the_integrated_states():
    """With a second mix of zeros, a mixed head is a plain one with some rows of weights more."""
    mixed = randomised(BCN(2, units=UNITS), [text()])
    for mix, gamma in ((mixed.mix, 1.0), (mixed.output_mix, 0.0)):
        mix.scalars.assign([0.0, 30.0])  # the top layer alone
        mix.gamma.assign(gamma)
    plain = BCN(2, units=UNITS, mixed=False)
    plain([text()])
    for name in ("pre_encoder", "encoder", "integrator"):
        getattr(plain, name).set_weights(getattr(mixed, name).get_weights())
    for one, other in zip(plain.maxouts[1:], mixed.maxouts[1:], strict=True):
        one.set_weights(other.get_weights())
    plain.self_attention.set_weights([mixed.self_attention.kernel[: 2 * UNITS]])
    kernel, bias = mixed.maxouts[0].get_weights()
    pools = kernel.reshape(4, 2 * UNITS + WIDTH, -1)[:, : 2 * UNITS]
    plain.maxouts[0].set_weights([pools.reshape(8 * UNITS, -1), bias])
    np.testing.assert_allclose(mixed([text()]), plain([text()]), rtol=1e-5)
    mixed.output_mix.gamma.assign(1.0)
    assert np.abs(mixed([text()]) - plain([text()])).max() > 0.01


def test_special_tokens_are_left_out():
    head = randomised(BCN(2, units=UNITS), [text()])
    words = [layer[1:, :2] for layer in LAYERS]
    junk = np.full((1, 1, WIDTH), 9.0, "float32")
    row = [np.concatenate([junk, layer, junk], axis=1) for layer in words]
    inputs = {"input_mask": np.ones((1, 4), "int32"), "input_type_ids": np.zeros((1, 4), "int32")}
    found = head([text([4], row)], inputs)
    np.testing.assert_allclose(found, head([text()])[1:], rtol=1e-5)


def test_a_text_without_words_has_finite_logits_and_gradients():
    head = randomised(BCN(2, units=UNITS), [text()])
    with tf.GradientTape() as tape:
        logits = head([text([4, 0])], training=True)
        loss = tf.reduce_sum(logits)
    assert np.isfinite(logits).all()
    for gradient in tape.gradient(loss, [weight.value for weight in head.weights]):
        assert np.isfinite(gradient).all()
    assert head([text([0, 0])]).shape == (2, 2)


def test_initialisation_is_glorots():
    keras.utils.set_random_seed(0)
    head = BCN(2, units=50)
    head([text()])
    for dense, fans in ((head.pre_encoder, 55), (head.maxouts[0].dense, 4 * 105 + 800)):
        kernel, bias = dense.get_weights()
        limit = np.sqrt(6 / fans)
        assert 0.95 * limit < abs(kernel).max() <= limit
        np.testing.assert_array_equal(bias, 0)
