"""A `.keras` file saved in the middle of a schedule: training goes on as if it had not been saved.

The library itself never loads such a file; users do.
"""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.adaptation.adaptations import chain_thaw, two_stage
from tf_adapt.adaptation.discriminative import DiscriminativeOptimizer
from tf_adapt.adaptation.unfreezing import Unfreezing

TEXTS = [("ab cd", "yes"), ("e", "no"), ("the who is", "yes"), ("what", "no"), ("f g", "no")]
TASK = ta.Task("classification", labels=["no", "yes"])


class WordMean(keras.layers.Layer):
    """The mean over the words of an encoder's top layer."""

    def call(self, encoded):
        return keras.ops.mean(encoded["layers"][-1], axis=1)


def ours(handle, inner):
    keras.utils.set_random_seed(3)
    encoder = ta.HubEncoder(handle)
    model = ta.build_model(TASK, encoder, "linear", "fine_tuning", head_dropout=0.0)
    optimizer = ta.DiscriminativeOptimizer(inner(), encoder, decay=0.5)
    model.compile(optimizer, TASK.loss, metrics=TASK.metrics, jit_compile=False)
    return model, ta.batches(TEXTS, TASK, encoder, batch_size=2, shuffle=False)


def plain(handle, inner):
    """A functional model with layers of its own, one of which Keras gives a new name each time."""
    keras.utils.set_random_seed(3)
    encoder = ta.HubEncoder(handle)
    pack, tokenize = encoder.preprocessor.pack, encoder.preprocessor.tokenize
    texts = pack([tokenize([text for text, _ in TEXTS])])
    inputs = {
        name: keras.Input(value.shape[1:], dtype=value.dtype.name, name=name)
        for name, value in texts.items()
    }
    hidden = keras.layers.Dense(6, "tanh")(WordMean()(encoder(inputs)))
    model = keras.Model(inputs, keras.layers.Dense(1, name="top")(hidden))
    model.compile(ta.DiscriminativeOptimizer(inner(), encoder, decay=0.5), "mse")
    targets = np.array([[1.0], [0.0], [1.0], [0.0], [0.0]])
    return model, tf.data.Dataset.from_tensor_slices((texts, targets)).batch(2)


def encoder_of(model):
    found = [layer for layer in model._flatten_layers() if isinstance(layer, ta.HubEncoder)]
    return found[0]


def fit(model, batches, adaptation, since, until):
    callbacks = [Unfreezing(encoder_of(model), adaptation)]
    model.fit(batches, initial_epoch=since, epochs=until, verbose=0, callbacks=callbacks)


def load(path):
    custom = {"WordMean": WordMean}
    return keras.saving.load_model(path, custom_objects=custom)


def adamw(**more):
    return lambda: keras.optimizers.AdamW(1e-2, weight_decay=0.1, **more)


def assert_same_state(model, other):
    for one, two in zip(model.weights, other.weights, strict=True):
        np.testing.assert_array_equal(one.numpy(), two.numpy(), err_msg=one.path)
    assert int(model.optimizer.iterations) == int(other.optimizer.iterations)


# The model, its optimizer, what it goes through, the epochs after which it is saved, and the last.
CASES = {
    "ours": (ours, adamw(global_clipnorm=1.0), two_stage(), [1], 2),
    # Three batches an epoch, after which each group of four ends.
    "accumulating": (plain, adamw(gradient_accumulation_steps=4), chain_thaw(every=2), [2, 3], 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_training_goes_on_as_if_never_saved(tiny_elmo, tmp_path, recwarn, name):
    make, inner, adaptation, saved_after, epochs = CASES[name]
    whole, batches = make(tiny_elmo, inner)
    fit(whole, batches, adaptation, 0, epochs)
    model, batches = make(tiny_elmo, inner)
    since = 0
    for until in saved_after:
        fit(model, batches, adaptation, since, until)
        model.save(tmp_path / f"{until}.keras")
        model, since = load(tmp_path / f"{until}.keras"), until
        assert isinstance(model.optimizer, DiscriminativeOptimizer)
    fit(model, batches, adaptation, since, epochs)
    assert_same_state(model, whole)
    said = [str(warning.message) for warning in recwarn]
    assert not [text for text in said if "Skipping variable" in text or "compile()" in text]


@pytest.mark.slow
def test_with_losses_scaled_for_float16(tiny_elmo, tmp_path):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        whole, batches = ours(tiny_elmo, adamw())
        model = whole
        for since in range(2):
            fit(model, batches, two_stage(), since, since + 1)
            model.save(tmp_path / f"{since}.keras")
            if model is not whole:  # one is loaded after each phase, one never
                fit(whole, batches, two_stage(), since, since + 1)
            with warnings.catch_warnings(record=True) as caught:
                model = load(tmp_path / f"{since}.keras")
            assert not [one for one in caught if "Skipping variable" in str(one.message)]
    finally:
        keras.config.set_dtype_policy(before)
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert_same_state(model, whole)
