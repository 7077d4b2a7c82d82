"""A mix starts from an ELMo module's own; a TF1-format module learns and is exported."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from random_modules import tf1_elmo_arrays, write_tf1_module

import tf_adapt as ta
from tf_adapt.heads.tagger import Tagger
from tf_adapt.layers.scalar_mix import ScalarMix

TASK = ta.Task("tagging", labels=["O", "B-PER", "I-PER"])
DATA = [
    (["Ann", "Lee", "sings"], ["B-PER", "I-PER", "O"]),
    (["rain", "falls", "on", "Bob"], ["O", "O", "O", "B-PER"]),
]
WEIGHTS, SCALE = (0.5, -1.0, 2.0), 0.25


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules") / "elmo"
    return write_tf1_module(folder, tf1_elmo_arrays(WEIGHTS, SCALE))


def mixes(model) -> list[ScalarMix]:
    return [layer for layer in model.head._flatten_layers() if isinstance(layer, ScalarMix)]


@pytest.mark.parametrize(
    ("kind", "head", "count"),
    [
        ("tagging", "bilstm_crf", 1),
        ("classification", "bcn", 2),
        ("pair_classification", "esim", 1),
    ],
)
def test_every_mix_starts_from_the_modules_own(folder, kind, head, count):
    task = TASK if kind == "tagging" else ta.Task(kind, labels=["no", "yes"])
    encoder = ta.HubEncoder(folder, trainable=False, trust=True)
    found = mixes(ta.build_model(task, encoder, head, head_units=4))
    assert len(found) == count
    for mix in found:
        np.testing.assert_array_equal(mix.scalars, np.float32(WEIGHTS))
        assert float(mix.gamma) == SCALE


def test_other_mixes_start_as_the_plain_mean(folder, tiny_elmo):
    own = Tagger(3, mixed=True, name="mine")
    encoder = ta.HubEncoder(folder, trainable=False, trust=True)
    untrained = ta.HubEncoder(folder, trainable=False, trust=True, pretrained=False)
    without = ta.HubEncoder(tiny_elmo, trainable=False)
    assert without.layer_mix is None
    for one, head in ((encoder, own), (untrained, "linear_tagger"), (without, "linear_tagger")):
        (mix,) = mixes(ta.build_model(TASK, one, head))
        np.testing.assert_array_equal(mix.scalars, np.zeros(3))
        assert float(mix.gamma) == 1


def test_the_shipped_modules_mix_is_the_plain_mean():
    mix = ta.HubEncoder("elmo_small", trainable=False).layer_mix
    assert (mix.weights, mix.scale) == ((0.0, 0.0, 0.0), 1.0)


@pytest.mark.slow
def test_one_step_moves_every_weight_of_the_encoder(folder):
    encoder = ta.HubEncoder(folder, trust=True)
    assert [name for name, _ in encoder.layer_groups] == ["char_cnn", "lstm_0", "lstm_1"]
    model = ta.build_model(TASK, encoder, adaptation="fine_tuning")
    model.compile(keras.optimizers.SGD(0.1), loss=TASK.loss, run_eagerly=True)
    before = [weight.numpy() for weight in encoder.weights]
    model.fit(ta.batches(DATA, TASK, encoder, batch_size=2), epochs=1, verbose=0)
    for old, weight in zip(before, encoder.weights, strict=True):
        assert np.any(old != weight.numpy()), weight.path


@pytest.mark.slow
def test_an_export_gives_the_same_answers(folder, tmp_path):
    encoder = ta.HubEncoder(folder, trust=True)
    model = ta.build_model(TASK, encoder, "linear_tagger", adaptation="feature_extraction")
    dense = model.head.dense
    dense.kernel.assign(np.random.default_rng(1).normal(0, 5, dense.kernel.shape))
    [(inputs, _)] = ta.batches(DATA, TASK, encoder, batch_size=2, shuffle=False)
    dense.bias.assign(-model(inputs).numpy()[0, :3].mean(axis=0))  # so that tags vary
    expected = ta.predict(model, [words for words, _ in DATA])
    assert len({tag for one in expected for tag in one.label}) > 1
    served = tf.saved_model.load(str(ta.export(model, tmp_path / "export")))
    tokens = tf.constant([["Ann", "Lee", "sings", ""], DATA[1][0]])
    found = served.signatures["serving_default"](tokens=tokens)
    for row, scores, one in zip(
        found["tags"].numpy(), found["scores"].numpy(), expected, strict=True
    ):
        count = len(one.label)
        assert [tag.decode() for tag in row[:count]] == list(one.label)
        np.testing.assert_allclose(scores[:count].max(-1), one.scores, atol=1e-5)
