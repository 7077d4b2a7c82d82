"""Layers of the user's as heads: on one vector of each text, saved and loaded."""

import keras
import numpy as np
import pytest

import tf_adapt as ta
from tf_adapt.errors import ConfigError

TEXTS = ["a fine film", "dull", "well played"]
LABELS = ta.Task("classification", labels=["bad", "good"])


@keras.saving.register_keras_serializable("tests")
class Registered(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(2)

    def build(self, encoded_shape, inputs_shape=None):
        self.dense.build((None, encoded_shape[0]["layers"][-1][-1]))

    def call(self, encoded, inputs=None, training=None):
        return self.dense(encoded[0]["layers"][-1][:, 0])


class Unregistered(Registered):
    pass


def outputs(model):
    [inputs] = ta.batches(TEXTS, model.task, model.encoder, shuffle=False)
    return model(inputs).numpy()


@pytest.fixture
def encoder(shallow_bert):
    return ta.HubEncoder(shallow_bert, trainable=False)


def test_a_plain_layer_reads_what_linear_reads(encoder):
    dense = keras.layers.Dense(2)
    model = ta.build_model(LABELS, encoder, head=dense)
    linear = ta.build_model(LABELS, encoder, head="linear")
    linear.head.dense.set_weights(dense.get_weights())
    np.testing.assert_allclose(outputs(model), outputs(linear), atol=1e-6)
    scores = ta.build_model(ta.Task("regression"), encoder, keras.layers.Dense(1))
    assert outputs(scores).shape == (3,)


def test_what_does_not_fit_is_refused(encoder):
    with pytest.raises(ConfigError, match=r"expected a layer with 2 outputs .* shape \(1, 4\)"):
        ta.build_model(LABELS, encoder, head=keras.layers.Dense(4))
    tags = ta.Task("tagging", labels=["O", "B-X", "I-X"])
    with pytest.raises(ConfigError, match="outputs for each word, got Dense"):
        ta.build_model(tags, encoder, head=keras.layers.Dense(3))


def test_heads_of_the_users_are_saved_whole_or_refused(encoder, tmp_path):
    head = keras.Sequential([keras.layers.Dense(4, "relu"), keras.layers.Dense(2)])
    for number, layer in enumerate((head, Registered())):
        model = ta.build_model(LABELS, encoder, head=layer)
        model.save(tmp_path / f"{number}.keras")
        loaded = keras.saving.load_model(tmp_path / f"{number}.keras")
        np.testing.assert_array_equal(outputs(loaded), outputs(model))
    model = ta.build_model(LABELS, encoder, head=Unregistered())
    with pytest.raises(ConfigError, match="got Unregistered, which is not registered"):
        model.save(tmp_path / "other.keras")


def test_texts_in_place_of_batches_are_told_so(encoder):
    model = ta.build_model(LABELS, encoder, head="linear")
    for given in (TEXTS, np.array(TEXTS)):
        with pytest.raises(ConfigError, match=r"write ta.predict\(model, texts\), or model.pred"):
            model.predict(given)
        for method in (model.fit, model.evaluate):
            with pytest.raises(ConfigError, match=r"ta.batches\(\(texts, labels\), model.task"):
                method(given, [0, 1, 0])
