"""Sentence modules as encoders: what they return, what learns, what is refused."""

import keras
import numpy as np
import pytest
import sentence_modules as modules
import tensorflow as tf

import tf_adapt as ta
from hub_modules.load import load_module
from hub_modules.programs import trial
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.training.finished.inspect import inspect_module

TEXTS = ["a good film", "the dog sings", "", "dull"]


@pytest.fixture
def quick(monkeypatch):
    """No trial in a child process: it is tested by itself."""
    monkeypatch.setattr("hub_modules.programs.saved_model.try_out", lambda folder, kind: None)


@pytest.fixture
def write(tmp_path, quick):
    return lambda kind=modules.HashedWords, **options: modules.write_sentence_module(
        tmp_path / kind.__name__, kind, **options
    )


@pytest.mark.slow
def test_the_vector_is_the_state_and_the_pooled_output(write):
    for kind in [modules.HashedWords, modules.WithModes, modules.OpenShape]:
        encoder = ta.HubEncoder(write(kind), trainable=False, trust=True)
        expected = modules.expected_vectors(TEXTS)
        for outputs in (
            encoder(TEXTS),
            encoder(tf.constant(TEXTS)),
            tf.function(encoder)(tf.constant(TEXTS)),
        ):
            np.testing.assert_allclose(outputs["pooled"], expected, atol=1e-6)
            assert len(outputs["layers"]) == 1
            np.testing.assert_array_equal(outputs["layers"][0], outputs["pooled"][:, None])
            np.testing.assert_array_equal(outputs["mask"], np.ones([4, 1], bool))
        assert (encoder.family, encoder.execution) == ("sentence", "saved_model")
        assert (encoder.num_layers, encoder.output_width) == (1, modules.WIDTH)
        assert not encoder.joint_pairs
        assert [name for name, _ in encoder.layer_groups] == ["module"]


def test_it_is_the_first_layer_of_a_keras_model(write):
    texts = keras.Input((), dtype="string")
    encoder = ta.HubEncoder(write(modules.OpenShape), trainable=False, trust=True)
    model = keras.Model(texts, encoder(texts)["pooled"])
    np.testing.assert_allclose(
        model(tf.constant(TEXTS)), modules.expected_vectors(TEXTS), atol=1e-6
    )


def test_it_reads_texts_of_any_length(write):
    encoder = ta.HubEncoder(write(), trainable=False, trust=True)
    long = " ".join(["good film"] * 3000)
    np.testing.assert_allclose(
        encoder([long])["pooled"], modules.expected_vectors([long]), rtol=1e-4
    )
    task = ta.Task("classification", ["no", "yes"])
    ((inputs, _),) = ta.batches([(long, "yes")], task, encoder, batch_size=1)
    assert inputs["a"]["text"].numpy().tolist() == [long.encode()]


def test_the_mode_is_training_only_where_it_learns(write):
    encoder = ta.HubEncoder(write(modules.WithModes), trust=True)
    assert not encoder(TEXTS, training=True)["pooled"].numpy().any()
    assert encoder(TEXTS, training=False)["pooled"].numpy().any()
    encoder.trainable = False
    np.testing.assert_allclose(
        encoder(TEXTS, training=True)["pooled"], modules.expected_vectors(TEXTS), atol=1e-6
    )


def test_a_step_of_gradient_descent_is_the_one_by_hand(write):
    encoder = ta.HubEncoder(write(), trust=True)
    (table,) = encoder.trainable_weights
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(encoder(["good good film"])["pooled"])
    (gradient,) = tape.gradient(loss, [table.value])
    expected = np.zeros_like(modules.TABLE)
    expected[modules.WORDS.index("good")] = 2 / np.sqrt(3)
    expected[modules.WORDS.index("film")] = 1 / np.sqrt(3)
    np.testing.assert_allclose(tf.convert_to_tensor(gradient), expected, rtol=1e-6)
    encoder.trainable = False
    with tf.GradientTape() as tape:
        tape.watch(table.value)
        loss = tf.reduce_sum(encoder(["good good film"])["pooled"])
    assert tape.gradient(loss, table.value) is None


def test_what_cannot_learn_is_refused_where_it_is_tuned(write):
    for folder in (write(trainable=False), write(modules.WithoutGradient)):
        with pytest.raises(ConfigError, match="sentence module can only be used frozen"):
            ta.HubEncoder(folder, trust=True)
    encoder = ta.HubEncoder(folder, trainable=False, trust=True)
    task = ta.Task("classification", ["no", "yes"])
    with pytest.raises(ConfigError, match="only be used frozen"):
        ta.build_model(task, encoder, adaptation="fine_tuning")
    model = ta.build_model(task, encoder, adaptation="feature_extraction")
    model.compile(keras.optimizers.Adam(0.1), loss=task.loss, run_eagerly=True)
    model.fit(ta.batches([("good", "yes"), ("dull", "no")], task, encoder), verbose=0)


def test_a4_strings_without_vectors_are_refused_with_the_interfaces(write):
    with pytest.raises(
        ArtifactError, match=r"no function from texts, \[batch\] string, to vectors"
    ):
        load_module(write(modules.Lengths), trust=True)


def test_a4_a_shape_that_shows_only_when_it_runs_is_refused(write):
    with pytest.raises(
        ArtifactError, match=r"expected a vector for each text.*got float32 \(1, 1, 1\)"
    ):
        load_module(write(modules.Wrong), trust=True)


def test_it_needs_trust(write, nothing_trusted):
    with pytest.raises(ArtifactError, match="no manifest.*trust=True"):
        load_module(write())


def test_options_that_it_has_not(write):
    folder = write()
    for options, message in [
        ({"execution": "native"}, "cannot run natively"),
        ({"pretrained": False}, "needs the native encoder"),
        ({"preprocessor": "bert_small"}, "reads texts itself"),
    ]:
        with pytest.raises(ConfigError, match=message):
            load_module(folder, trust=True, **options)
    with pytest.raises(ConfigError, match="one text at a time"):
        ta.HubEncoder(folder, trust=True, pairs="joint")


def test_inspect_names_family_group_and_width(write):
    found = inspect_module(str(write()), trust=True)
    assert found["family"] == "sentence"
    assert found["groups"] == {"module": modules.TABLE.size}
    assert (found["layers"], found["output_width"]) == (1, modules.WIDTH)
    assert found["max_length"] is None
    assert not found["recognised"]


def test_its_trial_calls_it(tmp_path):
    folder = modules.write_sentence_module(tmp_path / "m")
    assert trial.main("encoder", str(folder), "no file") == 0
