"""`HubEncoder` on texts: eager, in a graph, and as the first layer of a plain Keras model."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from adapted_encoders import adapted

import tf_adapt as ta
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError, DataError

TEXTS = ["the who is", "a bc d", "e"]
TARGETS = np.array([[1.0], [0.0], [1.0]])
MODULES = ["tiny_bert", "tiny_elmo"]


@pytest.fixture(params=MODULES)
def encoder(request) -> HubEncoder:
    keras.utils.set_random_seed(3)
    return HubEncoder(request.getfixturevalue(request.param))


@keras.saving.register_keras_serializable("tests")
class TopMaximum(keras.layers.Layer):
    """The largest value of each unit of the top layer, over the real positions."""

    def call(self, encoded):
        mask = keras.ops.cast(encoded["mask"], "float32")[..., None]
        return keras.ops.max(encoded["layers"][-1] - 1e9 * (1 - mask), axis=1)


class Subclassed(keras.Model):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.top, self.dense = encoder, TopMaximum(), keras.layers.Dense(1)

    def call(self, texts, training=None):
        return self.dense(self.top(self.encoder(texts, training=training)))


def functional(encoder):
    texts = keras.Input((), dtype="string")
    return keras.Model(texts, keras.layers.Dense(1)(TopMaximum()(encoder(texts))))


def sequential(encoder):
    begin = keras.Input((), dtype="string")
    return keras.Sequential([begin, encoder, TopMaximum(), keras.layers.Dense(1)])


def assert_same(one: dict, other: dict) -> None:
    assert set(one) == set(other)
    keras.tree.map_structure(
        lambda a, b: np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-6), one, other
    )


def test_texts_are_encoded_like_their_packed_inputs(encoder):
    expected = encoder(encoder.preprocessor(TEXTS))
    in_graph = tf.function(lambda texts: encoder(texts))
    for got in (
        encoder(TEXTS),
        encoder(np.array(TEXTS)),
        encoder(tf.constant(TEXTS)),
        in_graph(tf.constant(TEXTS)),
    ):
        assert_same(got, expected)


def test_pairs_are_a_tuple_and_read_jointly(tiny_bert, tiny_elmo):
    encoder = HubEncoder(tiny_bert)
    second = ["f g", "h", "what"]
    expected = encoder(encoder.preprocessor((TEXTS, second)))
    assert_same(encoder((TEXTS, second)), expected)
    assert_same(encoder((tf.constant(TEXTS), second)), expected)
    for apart in (HubEncoder(tiny_elmo), HubEncoder(tiny_bert, pairs="separate")):
        with pytest.raises(ConfigError, match="reads the texts of a pair apart.*call it on each"):
            apart((TEXTS, second))


@pytest.mark.slow
def test_a_functional_model_of_pairs_is_saved_and_loaded(tiny_bert, tmp_path):
    encoder = HubEncoder(tiny_bert)
    pair = [keras.Input((), dtype="string", name=name) for name in ("text_a", "text_b")]
    model = keras.Model(pair, keras.layers.Dense(1)(encoder(tuple(pair))["pooled"]))
    data = [tf.constant(TEXTS), tf.constant(TEXTS[::-1])]
    model.save(tmp_path / "x.keras")
    copy = keras.saving.load_model(tmp_path / "x.keras")
    np.testing.assert_array_equal(copy(data), model(data))


@pytest.mark.slow
@pytest.mark.parametrize(("module", "make"), [("tiny_bert", sequential), ("tiny_elmo", Subclassed)])
def test_a_plain_keras_model_learns_from_texts(module, make, request):
    encoder = HubEncoder(request.getfixturevalue(module))
    model = make(encoder)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    before = [weight.numpy() for weight in encoder.layer_groups[0][1]]
    model.fit(tf.constant(TEXTS), TARGETS, verbose=0)
    after = [weight.numpy() for weight in encoder.layer_groups[0][1]]
    assert any(np.any(one != other) for one, other in zip(before, after, strict=True))
    packed = TopMaximum()(encoder(encoder.preprocessor(TEXTS)))
    expected = model.layers[-1](packed)
    predicted = model.predict(np.array(TEXTS, dtype=object), batch_size=2, verbose=0)
    np.testing.assert_allclose(predicted, expected, atol=1e-5)
    model.fit(tf.data.Dataset.from_tensor_slices((TEXTS, TARGETS)).batch(3), verbose=0)


@pytest.mark.slow
def test_a_functional_model_is_saved_loaded_fitted_on_and_exported(tiny_bert, tmp_path):
    model = functional(HubEncoder(tiny_bert))
    model.compile(keras.optimizers.Adam(0.01), "mse", run_eagerly=True)
    model.fit(tf.constant(TEXTS), TARGETS, verbose=0)
    model.save(tmp_path / "x.keras")
    copy = keras.saving.load_model(tmp_path / "x.keras")
    expected = model(tf.constant(TEXTS)).numpy()
    np.testing.assert_allclose(copy(tf.constant(TEXTS)), expected, atol=1e-5)
    copy.fit(tf.constant(TEXTS), TARGETS, verbose=0)
    assert int(copy.optimizer.iterations) == int(model.optimizer.iterations) + 1
    assert np.any(copy(tf.constant(TEXTS)) != expected)
    model.export(tmp_path / "served", verbose=False)
    served = tf.saved_model.load(tmp_path / "served")
    np.testing.assert_allclose(served.serve(tf.constant(TEXTS)), expected, atol=1e-5)


def test_shapes_are_known_before_any_data(encoder):
    outputs = encoder(keras.Input((), dtype="string"))
    assert [state.shape for state in outputs["layers"]] == [(None, None, encoder.output_width)] * 3
    assert outputs["mask"].shape == (None, None)


def test_too_long_texts_and_other_things_are_refused(tiny_bert):
    encoder = HubEncoder(tiny_bert)
    with pytest.raises(
        DataError, match=r"^texts: expected at most 256 positions.*got 302 at \[1\]"
    ):
        encoder(["a", "b " * 300])
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 256 positions"):
        tf.function(lambda texts: encoder(texts))(tf.constant(["b " * 300]))
    with pytest.raises(DataError, match="^texts: expected texts.*put it into a list"):
        encoder("one text")
    model = keras.Sequential([encoder, TopMaximum(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(DataError, match=r'begin with keras.Input\(\(\), dtype="string"'):
        model.fit(tf.constant(TEXTS), TARGETS, verbose=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "adaptation",
    [
        ta.lora(2, 4.0, ("key", "output"), (1,)),
        ta.adapters("bottleneck", 3, (0,), "relu", "convolution"),
        ta.bitfit(),
    ],
    ids=["lora", "adapters", "bitfit"],
)
def test_what_is_added_to_an_encoder_is_saved_with_a_users_model(adaptation, tiny_bert, tmp_path):
    encoder = adapted(adaptation, tiny_bert)
    for weight in encoder.layer_groups[-1][1]:
        weight.assign(weight.numpy() + 0.3)
    encoder.set_trainable_groups([encoder.layer_groups[-1][0]])
    model = functional(encoder)
    model.save(tmp_path / "x.keras")
    copy = keras.saving.load_model(tmp_path / "x.keras")
    again = next(layer for layer in copy.layers if isinstance(layer, HubEncoder))
    assert again.added == adaptation.added
    assert again.trainable_groups == encoder.trainable_groups == [encoder.layer_groups[-1][0]]
    for one, other in zip(model.weights, copy.weights, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    np.testing.assert_array_equal(copy(tf.constant(TEXTS)), model(tf.constant(TEXTS)))
