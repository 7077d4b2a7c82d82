"""An encoder in OpenVINO: TensorFlow's numbers, current weights, and what is refused."""

import numpy as np
import pytest
import tensorflow as tf
from adapted_encoders import adapted
from huggingface_folders import keras_hub_is_new, write_folder
from openvino_engine import needs_int8, needs_openvino, own_cache
from small_data import RECORDS, TASKS, TEXTS

import tf_adapt as ta
from hub_modules.engines import names
from hub_modules.native.added.settings import TaskAttention
from hub_modules.native.relative import modern_bert_block
from tf_adapt.data.batches import prepare
from tf_adapt.encoder.feature_cache import feature_key, with_features
from tf_adapt.errors import ConfigError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    return own_cache(tmp_path / "cache", monkeypatch)


def largest_difference(one: list[np.ndarray], other: list[np.ndarray]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


def in_both(encoder) -> tuple[list, list]:
    """States of the texts in TensorFlow and in OpenVINO."""
    found = []
    for engine in ("tensorflow", "openvino"):
        encoder.engine = engine
        found.append(ta.encode(encoder, TEXTS, batch_size=3))
    return tuple(found)


@pytest.mark.slow
@needs_openvino
@pytest.mark.parametrize(
    "family", ["shallow_causal", "tiny_modern_bert", "tiny_mpnet", "deberta_v3"]
)
def test_float32_is_tensorflows(family, request, tmp_path):
    if family != "deberta_v3":
        handle = request.getfixturevalue(family)
    elif keras_hub_is_new():
        handle = f"keras:{write_folder(family, tmp_path / family, max_position_embeddings=80)}"
    else:
        pytest.skip("needs keras-hub 0.32")
    ours, theirs = in_both(ta.HubEncoder(handle, trainable=False))
    assert 0 < largest_difference(ours, theirs) < 1e-4


@pytest.mark.slow
@needs_openvino
def test_rows_that_are_attended_to_in_blocks(tiny_modern_bert, cache, monkeypatch):
    monkeypatch.setattr(modern_bert_block, "LONGEST_WHOLE", 8)
    monkeypatch.setattr(modern_bert_block, "QUERIES", 5)
    ours, theirs = in_both(ta.HubEncoder(tiny_modern_bert, trainable=False))
    assert max(map(len, TEXTS)) > 8 and 0 < largest_difference(ours, theirs) < 1e-4


@pytest.mark.slow
@needs_openvino
def test_bfloat16_is_as_near_to_float32_as_tensorflows(shallow_bert):
    exact = ta.encode(ta.HubEncoder(shallow_bert, trainable=False), TEXTS)
    half = ta.HubEncoder(shallow_bert, trainable=False, dtype="mixed_bfloat16")
    ours, theirs = in_both(half)
    assert largest_difference(theirs, exact) <= 1.5 * largest_difference(ours, exact)
    assert half(TEXTS)["pooled"].dtype == tf.bfloat16


@pytest.mark.slow
@needs_int8
def test_8_bits_are_near_and_can_be_left_again(shallow_bert, cache):
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    exact, full = in_both(encoder)
    encoder.engine = "openvino_int8"
    found = ta.encode(encoder, TEXTS, batch_size=3)
    scale = max(float(np.abs(states).max()) for states in exact)
    assert 1e-4 < largest_difference(found, exact) < 0.1 * scale
    encoder.engine = "openvino"
    np.testing.assert_array_equal(ta.encode(encoder, TEXTS, batch_size=3)[0], full[0])
    assert len(list(cache.iterdir())) == 2


@pytest.mark.slow
@needs_openvino
def test_weights_are_the_current_ones_and_adapters_are_read(shallow_bert, cache):
    encoder = adapted(ta.adapters(size=4), shallow_bert, trainable=False)
    before, _ = in_both(encoder)
    for weight in encoder.weights:
        weight.assign(weight + 0.02)
    found = ta.encode(encoder, TEXTS)
    encoder.engine = "tensorflow"
    expected = ta.encode(encoder, TEXTS)
    assert largest_difference(found, expected) < 1e-5 < largest_difference(before, expected)
    assert len(list(cache.iterdir())) == 2


@needs_openvino
def test_a_graph_of_ones_own(shallow_bert):
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    inputs = encoder.preprocessor(TEXTS, encoder.max_length)
    expected = encoder(inputs)["pooled"]
    encoder.engine = "openvino"
    found = tf.function(lambda one: encoder(one, training=False))(inputs)["pooled"]
    assert 0 < float(tf.reduce_max(tf.abs(found - expected))) < 1e-4


@needs_openvino
def test_a_second_encoder_reads_the_converted_graph(shallow_bert, cache):
    for _ in range(2):
        encoder = ta.HubEncoder(shallow_bert, trainable=False, engine="openvino")
        ta.encode(encoder, TEXTS[:1])
    assert len(list(cache.iterdir())) == 1


@pytest.mark.slow
@needs_openvino
@pytest.mark.parametrize(
    ("kind", "head"), [("pair_classification", "linear"), ("tagging", "linear_tagger")]
)
def test_predictions(shallow_bert, kind, head):
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    model = ta.build_model(TASKS[kind], encoder, head, "feature_extraction")
    expected = ta.predict(model, RECORDS[kind])
    encoder.engine = "openvino"
    found = ta.predict(model, RECORDS[kind])
    for one, other in zip(found, expected, strict=True):
        assert one.label == other.label
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-5)


@needs_openvino
def test_features_are_another_entry_of_the_cache(shallow_bert, tmp_path):
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    prepared = prepare(RECORDS["classification"], TASKS["classification"], encoder)
    rows, keys = [], []
    for engine in ("tensorflow", "openvino"):
        kept = with_features(prepared, encoder, tmp_path / "features", engine=engine)
        rows.append([kept.features[0][0].rows(place) for place in range(len(TEXTS))])
        keys.append(feature_key(prepared, 0, encoder, np.dtype("float32"), None))
    assert largest_difference(*rows) < 1e-4
    assert len(list((tmp_path / "features").glob("*/features"))) == 2
    assert keys[1].pop("engine").startswith("openvino ") and keys[0] == keys[1]


@needs_openvino
def test_what_computes_gradients_is_refused(shallow_bert):
    encoder = ta.HubEncoder(shallow_bert, engine="openvino")
    inputs = encoder.preprocessor(TEXTS, encoder.max_length)
    with pytest.raises(ConfigError, match="expected a call without gradients"):
        encoder.call(inputs, training=True)
    given = inputs | {"states_of_layer_0": np.zeros((4, 3, encoder.output_width), "float32")}
    with pytest.raises(ConfigError, match="expected a call without gradients"):
        encoder.call(given)
    half = ta.HubEncoder(shallow_bert, trainable=False, dtype="mixed_float16", engine="openvino")
    with pytest.raises(ConfigError, match="expected float32 or bfloat16, got float16"):
        ta.encode(half, TEXTS)


@needs_openvino
def test_elmo_stays(tiny_elmo):
    with pytest.raises(ConfigError, match="loops over the words are slower there"):
        ta.HubEncoder(tiny_elmo, trainable=False, engine="openvino")


@needs_openvino
def test_saved_and_loaded(shallow_bert):
    encoder = ta.HubEncoder(shallow_bert, trainable=False, engine="openvino")
    assert ta.HubEncoder.from_config(encoder.get_config()).engine == "openvino"
    config = encoder.get_config()
    del config["engine"]  # of a file that was written before
    assert ta.HubEncoder.from_config(config).engine == "tensorflow"


def test_without_the_package(shallow_bert, monkeypatch):
    monkeypatch.setitem(names.PACKAGES, "openvino", (["no_such_package"], "openvino"))
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    with pytest.raises(
        ConfigError, match="expected the package no_such_package, got none; install"
    ):
        encoder.engine = "openvino"
    with pytest.raises(ConfigError, match="one of tensorflow, openvino, openvino_int8, got 'onnx'"):
        encoder.engine = "onnx"
    assert encoder.engine == "tensorflow"


@needs_openvino
def test_attention_of_several_tasks_is_refused(shallow_bert):
    encoder = ta.HubEncoder(shallow_bert)
    encoder.add(TaskAttention(("a", "b"), size=3))
    with pytest.raises(ConfigError, match="openvino.*got one with an attention of its own"):
        encoder.engine = "openvino"
