"""Discriminative rates in `fit`: callbacks, half precision, XLA, saving, two devices."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorflow.python.framework.config import disable_op_determinism, is_op_determinism_enabled

import tf_adapt as ta
from tf_adapt.adaptation.discriminative import DiscriminativeOptimizer
from tf_adapt.adaptation.last_update import LastUpdate

RANDOM = np.random.default_rng(3)
INPUTS = RANDOM.normal(size=(8, 4)).astype("float32")
TARGETS = RANDOM.normal(size=(8, 1)).astype("float32")


def dense_model(inner, decay=0.5, jit_compile=False, **options):
    """A plain Keras model with the groups layer_0, layer_1 and head, compiled but not built."""
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(3, "tanh", name=f"layer_{n}") for n in range(2)]
    head = keras.layers.Dense(1, dtype="float32", name="head")
    model = keras.Sequential([keras.Input((4,)), *layers, head])
    groups = [(layer.name, layer.weights) for layer in layers]
    encoder = SimpleNamespace(layer_groups=groups, adaptable_groups=dict(groups))
    optimizer = DiscriminativeOptimizer(inner, encoder, decay=decay)
    model.compile(optimizer, "mse", jit_compile=jit_compile, **options)
    return model


def fit(model, epochs=3, **options):
    return model.fit(
        INPUTS, TARGETS, batch_size=4, epochs=epochs, shuffle=False, verbose=0, **options
    )


def weights(model):
    return np.concatenate([weight.numpy().ravel() for weight in model.weights])


@pytest.mark.slow
def test_a_fitted_model_is_that_of_plain_keras_where_all_rates_are_one():
    inner = {"learning_rate": 0.01, "global_clipnorm": 0.1}
    ours = dense_model(keras.optimizers.AdamW(**inner), decay=None)
    theirs = dense_model(keras.optimizers.Adam())
    plain = keras.optimizers.AdamW(**inner)
    plain.exclude_from_weight_decay(var_names=["bias"])  # which ours leaves out by itself
    theirs.compile(plain, "mse", jit_compile=False)
    start = weights(ours)
    fit(ours)
    fit(theirs)
    np.testing.assert_allclose(weights(ours), weights(theirs), atol=2e-6)
    assert np.abs(weights(ours) - start).max() > 1e-3


def test_callbacks_read_and_set_the_rate(tmp_path):
    model = dense_model(keras.optimizers.Adam(0.1))
    callbacks = [
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: 0.05 if epoch == 1 else rate),
        keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=1e9),
        keras.callbacks.TensorBoard(tmp_path),
    ]
    logs = fit(model, callbacks=callbacks).history
    assert logs["learning_rate"] == pytest.approx([0.1, 0.05, 0.025])
    assert model.optimizer.rates()["layer_0"] == pytest.approx(0.0125 / 4)
    events = EventAccumulator(str(tmp_path / "train"))
    events.Reload()
    rates = [tf.make_ndarray(e.tensor_proto) for e in events.Tensors("epoch_learning_rate")]
    assert rates == pytest.approx([0.1, 0.025, 0.0125])


@pytest.fixture
def any_order():
    """Switches deterministic operations off, with which Keras compiles nothing."""
    before = is_op_determinism_enabled()
    disable_op_determinism()
    yield
    if before:
        tf.config.experimental.enable_op_determinism()


@pytest.mark.slow
def test_compiled_by_xla(any_order):
    options = {"gradient_accumulation_steps": 2, "use_ema": True, "ema_overwrite_frequency": 2}
    plain, compiled = (
        dense_model(keras.optimizers.AdamW(0.01, global_clipnorm=0.1, **options), jit_compile=jit)
        for jit in (False, True)
    )
    fit(plain, callbacks=[LastUpdate()])
    fit(compiled, callbacks=[LastUpdate()])
    assert compiled.jit_compile
    np.testing.assert_allclose(weights(compiled), weights(plain), atol=1e-6)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision(policy):
    """Frozen groups keep their bits, and the others learn as under float32, less precisely."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        # A small loss, so that float16 can hold its first gradients times 2^15.
        model = dense_model(keras.optimizers.Adam(0.1), loss_weights=[1e-3])
    finally:
        keras.config.set_dtype_policy(before)
    whole = dense_model(keras.optimizers.Adam(0.1), loss_weights=[1e-3])
    whole.set_weights([weight.numpy().astype("float32") for weight in model.weights])
    is_scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert is_scaled == (policy == "mixed_float16")
    for one in (model, whole):
        one.optimizer.build(one.trainable_weights)
        one.layers[0].trainable = False
    frozen = [weight.numpy() for weight in model.layers[0].weights]
    start = weights(whole)
    fit(model)
    fit(whole)
    for weight, value in zip(model.layers[0].weights, frozen, strict=True):
        np.testing.assert_array_equal(weight.numpy(), value)
    moved = np.abs(weights(whole) - start).max()
    np.testing.assert_allclose(weights(model).astype("float32"), weights(whole), atol=0.15 * moved)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inner", "options"),
    [
        (keras.optimizers.AdamW, {}),
        pytest.param(
            *(keras.optimizers.Nadam, {"gradient_accumulation_steps": 3}), marks=pytest.mark.large
        ),
    ],
)
def test_slots_of_frozen_layers_are_in_the_file(tmp_path, inner, options):
    """Keras builds a loaded optimizer over what trains then: here over all but layer_0."""

    def train(model, frozen):
        for layer in model.layers:
            layer.trainable = layer.name not in frozen
        model.make_train_function(force=True)
        fit(model, epochs=1)

    def made():
        model = dense_model(inner(0.05, **options), run_eagerly=True)
        for frozen in ([], ["layer_0", "head"], ["layer_0"]):
            train(model, frozen)
        return model

    model, whole = made(), made()
    for number in range(3):  # the second one is saved as it was loaded
        model.save(tmp_path / f"{number}.keras")
        model = keras.saving.load_model(tmp_path / f"{number}.keras")
        if number == 1:
            train(model, ["layer_0"])
    train(whole, ["layer_0"])
    known = {name: len(those) for name, those in model.optimizer.groups.items()}
    assert known == {"layer_1": 2, "head": 2}
    model.optimizer.build(model.weights)
    for frozen in ([], ["layer_1"]):
        train(model, frozen)
        train(whole, frozen)
        np.testing.assert_array_equal(weights(model), weights(whole))
    assert int(model.optimizer.iterations) == int(whole.optimizer.iterations)
    assert len(model.optimizer.variables) == len(whole.optimizer.variables)


def moved_groups(model, encoder, train):
    groups = [*encoder.layer_groups, ("head", model.layers[-1].weights)]
    before = {name: [w.numpy() for w in those] for name, those in groups}
    train()
    return {
        name: max(np.abs(w.numpy() - old).max() for w, old in zip(those, before[name], strict=True))
        for name, those in groups
    }


@pytest.mark.slow
def test_a_plain_keras_model_around_a_shipped_encoder():
    encoder = ta.HubEncoder("bert_small")
    pack = encoder.preprocessor.pack
    inputs = pack([encoder.preprocessor.tokenize(tf.constant(["a good film", "dull"]))])
    shapes = {
        name: keras.Input(value.shape[1:], dtype=value.dtype.name, name=name)
        for name, value in inputs.items()
    }
    pooled = encoder(shapes)["pooled"]
    model = keras.Model(shapes, keras.layers.Dense(1, name="head")(pooled))
    inner = keras.optimizers.Adam(1e-3, epsilon=1e-12)
    optimizer = DiscriminativeOptimizer(inner, encoder, decay=0.5)
    model.compile(optimizer, "mse", run_eagerly=True)
    moved = moved_groups(
        model, encoder, lambda: model.fit(inputs, np.ones((2, 1)), epochs=1, verbose=0)
    )
    # Adam's first step is as long as the rate.
    assert moved == pytest.approx(optimizer.rates(), rel=1e-2)
    assert list(moved) == list(optimizer.groups)
    assert moved["embeddings"] == pytest.approx(1e-3 * 0.5**5, rel=1e-2)


@pytest.mark.large
def test_two_devices_equal_one():
    child = Path(__file__).parents[1] / "children" / "optimizer.py"
    done = subprocess.run([sys.executable, str(child)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    for case in ("decay", "schedule", "average", "loss scaled"):
        one, two = found[case]["one"], found[case]["two"]
        np.testing.assert_allclose(two["weights"], one["weights"], atol=1e-5)
        assert two["rates"] == one["rates"]
        for moved in (one["moved"], two["moved"]):
            assert moved == [
                [f"{group}/{name}" for group in groups for name in ("kernel", "bias")]
                for groups in (["layer_1", "head"], ["head"], ["layer_0", "layer_1", "head"])
            ]
    assert len(found["refused"]) == 2
    for message in found["refused"]:
        assert "on several devices (2 here) Keras can neither accumulate gradients" in message
