"""HubEncoder: both executions, freezing by group, the TF1 format, a user's own Keras model."""

import importlib.util
import inspect
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from adapted_encoders import adapted

import tf_adapt as ta
from hub_modules.native.added.settings import BottleneckAdapters
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError

TEXTS = tf.constant(["The cat sat .", "Hello Paris"])


def pack(encoder):
    return encoder.preprocessor.pack([encoder.preprocessor.tokenize(TEXTS)])


def moved_groups(encoder):
    """Which groups' weights change when a user's own Keras model is fitted."""
    inputs = {
        name: keras.Input(value.shape[1:], dtype=value.dtype.name, name=name)
        for name, value in pack(encoder).items()
    }
    top = keras.ops.max(encoder(inputs)["layers"][-1], axis=1)
    model = keras.Model(inputs, keras.layers.Dense(1)(top))
    model.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=True)
    before = {name: [w.numpy() for w in weights] for name, weights in encoder.layer_groups}
    model.fit(pack(encoder), np.ones((2, 1)), verbose=0)
    return {
        name
        for name, weights in encoder.layer_groups
        if any(np.any(old != new.numpy()) for old, new in zip(before[name], weights, strict=True))
    }


BERT = ["embeddings", "layer_0", "layer_1", "layer_2", "pooler"]
ELMO = ["char_cnn", "lstm_0", "lstm_1"]


def test_what_bert_small_is():
    encoder = HubEncoder("bert_small")
    assert [name for name, _ in encoder.layer_groups] == BERT
    assert (encoder.family, encoder.num_layers, encoder.output_width) == ("bert", 4, 384)
    assert encoder.max_length == 512


@pytest.mark.slow
@pytest.mark.parametrize("execution", ["native", "saved_model"])
def test_groups_of_bert_learn_as_told(execution, tiny_program):
    encoder = HubEncoder(tiny_program, execution=execution)
    groups = ["embeddings", "layer_0", "layer_1", "pooler"]
    assert [name for name, _ in encoder.layer_groups] == groups
    encoder.set_trainable_groups(["layer_0", "layer_1"])
    assert encoder.trainable_groups == ["layer_0", "layer_1"]
    assert moved_groups(encoder) == {"layer_0", "layer_1"}
    encoder.trainable = False
    assert encoder.trainable_groups == [] and not encoder.trainable_weights
    assert moved_groups(encoder) == set()
    encoder.trainable = True
    assert encoder.trainable_groups == groups


def test_groups_are_printed_as_names_and_counts(tiny_elmo):
    groups = HubEncoder(str(tiny_elmo)).layer_groups
    lines = repr(groups).splitlines()
    assert [line.split()[0] for line in lines] == [name for name, _ in groups]
    for (_, weights), line in zip(groups, lines, strict=True):
        count = sum(int(np.prod(weight.shape)) for weight in weights)
        assert line.endswith(f"  {len(weights)} weights, {count:,} parameters")
    assert isinstance(groups, list) and groups == list(groups)


@pytest.mark.slow
def test_groups_of_elmo_learn_as_told(tiny_elmo):
    encoder = HubEncoder(tiny_elmo)
    assert [name for name, _ in encoder.layer_groups] == ELMO
    assert (encoder.family, encoder.num_layers, encoder.output_width) == ("elmo", 3, 16)
    encoder.set_trainable_groups(["lstm_1"])
    assert moved_groups(encoder) == {"lstm_1"}
    encoder.trainable = True
    assert moved_groups(encoder) == set(ELMO)


@pytest.mark.slow
def test_an_elmo_black_box_learns_by_group():
    encoder = HubEncoder("elmo_small", execution="saved_model")
    assert [name for name, _ in encoder.layer_groups] == [*ELMO, "aggregation"]
    encoder.set_trainable_groups(["lstm_0"])
    gradients = black_box_gradients(encoder)
    assert {name for name, gradient in gradients.items() if gradient is not None} == {"lstm_0"}


def black_box_gradients(encoder):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(encoder(pack(encoder))["layers"][-1] ** 2)
    weights = encoder.trainable_weights
    found = dict(zip(map(id, weights), tape.gradient(loss, weights), strict=True))
    return {name: found.get(id(group[0])) for name, group in encoder.layer_groups}


def test_a_frozen_black_box_runs_in_inference_mode(tiny_program):
    encoder = HubEncoder(tiny_program, trainable=False, execution="saved_model")
    one, other = (encoder(pack(encoder), training=True)["pooled"] for _ in range(2))
    np.testing.assert_array_equal(one, other)
    encoder.trainable = True
    one, other = (encoder(pack(encoder), training=True)["pooled"] for _ in range(2))
    assert np.abs(one - other).max() > 1e-3


@pytest.mark.slow
def test_adapters_are_a_group_that_learns_alone(tiny_bert):
    encoder = adapted(ta.adapters(size=8), tiny_bert)
    assert [name for name, _ in encoder.layer_groups][-2:] == ["pooler", "adapters"]
    encoder.set_trainable_groups(["adapters"])
    assert encoder.trainable_groups == ["adapters"]
    assert moved_groups(encoder) == {"adapters"}
    copy = HubEncoder.from_config(encoder.get_config())
    assert copy.added == encoder.added == BottleneckAdapters(8)
    assert copy.trainable_groups == ["adapters"]
    shapes = [[tuple(w.shape) for w in one.weights] for one in (encoder, copy)]
    assert shapes[0] == shapes[1]


def test_adapters_need_the_native_encoder_and_a_known_kind():
    with pytest.raises(ConfigError, match="adapters needs the native encoder, got execution: sa"):
        adapted(ta.adapters(), "bert_small", trainable=False, execution="saved_model")
    with pytest.raises(ConfigError, match="kind: expected bottleneck or proj.*, got 'best'"):
        ta.adapters("best")


def test_unknown_groups_are_refused():
    with pytest.raises(ConfigError, match="layer_9.*expected some of.*layer_2"):
        HubEncoder("bert_small").set_trainable_groups(["layer_9"])


def write_tf1_elmo(folder):
    path = Path(__file__).parents[1] / "children" / "tf1_elmo.py"
    spec = importlib.util.spec_from_file_location("tf1_elmo", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write_tf1_elmo(folder)


@pytest.mark.slow
def test_a_tf1_module_works_frozen_and_says_how_to_tune(tmp_path, monkeypatch):
    # A trial in a child process is tested by itself.
    monkeypatch.setattr("hub_modules.programs.saved_model.try_out", lambda folder, kind: None)
    folder = write_tf1_elmo(tmp_path / "elmo3")
    encoder = HubEncoder(folder, trainable=False, trust=True)
    assert (encoder.family, encoder.execution) == ("elmo", "saved_model")
    assert (encoder.num_layers, encoder.output_width) == (3, 8)
    outputs = encoder(pack(encoder))
    rows = np.arange(120.0).reshape(30, 4)
    hello, paris = rows[5], rows[5]
    tokens = outputs["layers"][0].numpy()
    np.testing.assert_array_equal(tokens[1, :2], [np.tile(hello, 2), np.tile(paris, 2)])
    np.testing.assert_array_equal(outputs["layers"][2].numpy()[1, 2:], np.zeros((2, 8)))
    np.testing.assert_array_equal(outputs["layers"][2].numpy()[0, 0], 3 * np.tile(rows[3], 2))
    for execution, remedy in (
        (None, "not those of a published"),
        ("saved_model", "leave out exec"),
    ):
        with pytest.raises(ConfigError, match=f"frozen.*{remedy}.*module convert --from bilm-tf"):
            HubEncoder(folder, trainable=True, trust=True, execution=execution)
    with pytest.raises(ConfigError, match="needs the native encoder, got.*a module not recognised"):
        adapted(ta.adapters(), folder, trainable=False, trust=True)
    with pytest.raises(ConfigError, match="cannot run natively"):
        HubEncoder(folder, trainable=False, trust=True, execution="native")


def test_mixed_precision_is_the_native_layers():
    encoder = HubEncoder("bert_small", dtype="mixed_bfloat16")
    outputs = encoder(pack(encoder))
    assert outputs["layers"][0].dtype == tf.bfloat16
    assert {weight.dtype for weight in encoder.weights} == {"float32"}


def test_the_configuration_is_complete(tiny_program):
    arguments = set(inspect.signature(HubEncoder.__init__).parameters) - {"self", "kwargs"}
    handle = str(tiny_program)
    encoder = HubEncoder(handle, trainable=False, execution="saved_model")
    config = encoder.get_config()
    assert arguments <= set(config)
    copy = HubEncoder.from_config(config)
    assert (copy.trainable, copy.execution, copy.handle) == (False, "saved_model", handle)


@pytest.mark.parametrize("module", ["tiny_bert", "tiny_elmo"])
def test_without_pretraining_the_network_is_the_same_and_its_weights_are_random(module, request):
    handle = request.getfixturevalue(module)
    keras.utils.set_random_seed(3)
    random = HubEncoder(handle, pretrained=False)
    keras.utils.set_random_seed(3)
    same = HubEncoder.from_config(random.get_config())
    pretrained = HubEncoder(handle)
    assert [weight.shape for weight in random.weights] == [w.shape for w in pretrained.weights]
    matrices = [index for index, w in enumerate(random.weights) if len(w.shape) > 1]
    for index in matrices:
        ours, other = random.weights[index].numpy(), pretrained.weights[index].numpy()
        assert not np.allclose(ours, other)
        np.testing.assert_array_equal(ours, same.weights[index].numpy())


def test_a_black_box_has_no_weights_but_its_own():
    with pytest.raises(ConfigError, match="pretrained"):
        HubEncoder("bert_small", execution="saved_model", pretrained=False)


def test_tensorflow_sees_the_preprocessing_and_keras_does_not(tiny_bert):
    """An export of a user's own model needs its tables; it has no weights to be saved."""
    encoder = HubEncoder(tiny_bert)
    seen = tf.train.TrackableView(encoder).descendants()
    assert any(one is encoder.preprocessor for one in seen)
    assert all(one is not encoder.preprocessor for one in encoder._flatten_layers())
