"""What is written works without this project, in TF Hub's contract, and can be trained there."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.export import BertModule, native_encoder, write_module
from hub_modules.load import load_module
from hub_modules.shipped import PRETRAINED
from hub_modules.sources import ModuleSource
from tf_adapt.errors import ArtifactError

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##c", "d", "e"]
INPUTS = ("input_word_ids", "input_mask", "input_type_ids")
CONFIGS = {
    "bert": {
        "vocabulary_size": len(VOCABULARY),
        "width": 8,
        "num_layers": 2,
        "num_heads": 2,
        "intermediate_width": 12,
        "max_positions": 16,
    },
    "elmo": {
        "filters": [[1, 4], [2, 4]],
        "character_width": 4,
        "num_highway": 1,
        "projection_width": 6,
        "lstm_width": 5,
    },
}


def source(family):
    encoder = native_encoder(family, CONFIGS[family])
    rng = np.random.default_rng(3)
    weights = {
        name: rng.normal(0, 0.3, weight.shape).astype("float32")
        for name, weight in encoder.weights_by_name().items()
    }
    return ModuleSource(family, CONFIGS[family], weights, VOCABULARY, family == "bert" or None)


@pytest.fixture(scope="module", params=["bert", "elmo"])
def written(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules") / request.param
    write_module(source(request.param), folder)
    return folder


def test_the_weights_come_back_bit_by_bit(written):
    family = written.name
    found = load_module(written).encoder.weights_by_name()
    for name, array in source(family).weights.items():
        np.testing.assert_array_equal(found[name].numpy(), array)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "elmo"])
def test_weights_stored_in_half_the_space_come_back_rounded(family, tmp_path):
    folder = tmp_path / family
    write_module(source(family), folder, stored_as="float16")
    native, program = (load_module(folder, execution) for execution in ("native", "saved_model"))
    for name, weight in native.encoder.weights_by_name().items():
        rounded = source(family).weights[name].astype("float16").astype("float32")
        assert weight.dtype == "float32"
        np.testing.assert_array_equal(weight, rounded)
    one, other = (way.encoder(way.preprocessor(["a bc", "b a"])) for way in (native, program))
    for found, expected in zip(one["layers"], other["layers"], strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_weights_beyond_the_range_of_half_precision_are_refused(tmp_path):
    large = source("bert")
    large.weights["pooler/bias"][3] = 1e5
    with pytest.raises(ArtifactError, match="pooler/bias: expected numbers up to 65504 .* 100000"):
        write_module(large, tmp_path / "out", stored_as="float16")
    assert not list(tmp_path.iterdir())


def test_an_existing_folder_is_not_overwritten(written):
    with pytest.raises(ArtifactError, match="does not exist yet"):
        write_module(source(written.name), written)


def test_a_weight_of_another_shape_leaves_nothing_behind(tmp_path):
    wrong = source("bert")
    wrong.weights["pooler/bias"] = np.zeros(9, "float32")
    with pytest.raises(ArtifactError, match="pooler/bias"):
        write_module(wrong, tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("family", ["bert", "elmo"])
def test_a_module_has_no_place_for_adapters(family, tmp_path):
    wrong = source(family)
    wrong.config = wrong.config | {"adapters": "bottleneck"}
    with pytest.raises(ArtifactError, match="without adapters, got 'bottleneck'.*save_adapters"):
        write_module(wrong, tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("adapters", ["bottleneck", "projected_attention"])
def test_a_program_of_an_encoder_computes_its_adapters(adapters):
    encoder = native_encoder("bert", CONFIGS["bert"], adapters=adapters, adapter_size=4)
    random = np.random.default_rng(3)
    for weight in encoder.weights:
        weight.assign_add(random.normal(0, 0.3, weight.shape))
    inputs = {name: tf.constant([[1, 1, 1]]) for name in INPUTS}
    expected = encoder(inputs)
    got = BertModule(encoder)(inputs)
    np.testing.assert_allclose(got["pooled_output"], expected["pooled"], atol=1e-6)
    np.testing.assert_allclose(got["sequence_output"], expected["layers"][-1], atol=1e-6)


# Runs in a process that must not see this project: TensorFlow, tensorflow-text and tensorflow-hub.
STRANGER = """
import json, sys
import numpy as np, tensorflow as tf, tensorflow_text, tensorflow_hub as hub, tf_keras
family, folder = sys.argv[1:]
if family == "bert":
    preprocess = hub.load(folder + "/preprocess")
    text = tf.constant(["a bc d", "e"])
    packed = preprocess.bert_pack_inputs([preprocess.tokenize(text)], seq_length=6)
    inputs = {name: tf_keras.Input([None], dtype="int32", name=name) for name in packed}
    key, values, training = "pooled_output", packed, True
else:
    values = {"tokens": tf.constant([["a", "bc"], ["e", ""]]), "sequence_len": tf.constant([2, 1])}
    inputs = {"tokens": tf_keras.Input([None], dtype="string", name="tokens"),
              "sequence_len": tf_keras.Input([], dtype="int32", name="sequence_len")}
    key = "elmo"
encoder = hub.load(folder + "/encoder")
outputs = encoder(values, training=False)
layer = hub.KerasLayer(folder + "/encoder", trainable=True)
output = layer(inputs)[key]
if family == "elmo":
    output = tf_keras.layers.GlobalMaxPooling1D()(output)
model = tf_keras.Model(inputs, tf_keras.layers.Dense(1)(output))
model.compile("sgd", "mse")
before = [variable.numpy() for variable in layer.trainable_weights]
model.fit(values, np.ones([2, 1]), epochs=2, verbose=0)
moved = {new.name: bool(np.any(old != new.numpy()))
         for old, new in zip(before, layer.trainable_weights)}
assert "hub_modules" not in sys.modules and "tf_adapt" not in sys.modules
def plain(value):
    return [plain(v) for v in value] if isinstance(value, list) else value.numpy().tolist()
print(json.dumps({"outputs": {k: plain(v) for k, v in outputs.items()}, "moved": moved,
                  "variables": len(encoder.trainable_variables)}))
"""


def run_stranger(family: str, folder: Path, cwd: Path) -> dict:
    finished = subprocess.run(
        [sys.executable, "-I", "-c", STRANGER, family, str(folder)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=180,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    return json.loads(finished.stdout.strip().splitlines()[-1])


@pytest.mark.slow
def test_plain_hub_loads_and_trains_it_and_gets_our_numbers(written, tmp_path):
    family = written.name
    got = run_stranger(family, written, tmp_path)
    native = load_module(written)
    texts = tf.constant(["a bc d", "e"] if family == "bert" else ["a bc", "e"])
    outputs = native.encoder(native.preprocessor.pack([native.preprocessor.tokenize(texts)]))
    layers = [np.asarray(layer) for layer in outputs["layers"]]
    mask = np.asarray(outputs["mask"])
    theirs = {name: np.array(value) for name, value in got["outputs"].items()}
    if family == "bert":
        theirs_by_layer = [theirs["embedding_output"], *theirs["encoder_outputs"]]
        for one, other in zip(theirs_by_layer, layers, strict=True):
            np.testing.assert_allclose(one[mask], other[mask], atol=1e-5)
        np.testing.assert_allclose(theirs["pooled_output"], outputs["pooled"], atol=1e-5)
        np.testing.assert_array_equal(theirs["default"], theirs["pooled_output"])
        np.testing.assert_array_equal(theirs["sequence_output"], theirs["encoder_outputs"][-1])
        # The same number added to every key changes no attention: its gradient is zero.
        still = {name for name, moved in got["moved"].items() if not moved}
        assert got["variables"] == 39 and all("attention/key/bias" in name for name in still)
    else:
        np.testing.assert_allclose(theirs["word_emb"], layers[0][..., :6], atol=1e-5)
        np.testing.assert_allclose(theirs["lstm_outputs1"], layers[1], atol=1e-5)
        np.testing.assert_allclose(theirs["lstm_outputs2"], layers[2], atol=1e-5)
        mixed = np.mean(layers, axis=0)
        np.testing.assert_allclose(theirs["elmo"], mixed, atol=1e-5)
        np.testing.assert_allclose(theirs["default"], mixed.sum(1) / [[2], [1]], atol=1e-5)
        assert got["variables"] == 25 and all(got["moved"].values())


def test_elmo_takes_raw_text_as_its_second_signature(tmp_path):
    module = tf.saved_model.load(str(PRETRAINED / "elmo_small" / "encoder"))
    by_text = module(tf.constant(["The cat sat", "Hello", ""]))
    tokens = tf.constant([["The", "cat", "sat"], ["Hello", "", ""], ["", "", ""]])
    lengths = tf.constant([3, 1, 0])
    by_tokens = module.signatures["tokens"](tokens=tokens, sequence_len=lengths)
    served = module.signatures["default"](text=tf.constant(["The cat sat", "Hello", ""]))
    for name in ("word_emb", "lstm_outputs1", "lstm_outputs2", "elmo", "default"):
        np.testing.assert_allclose(by_text[name], by_tokens[name], atol=1e-6)
        np.testing.assert_allclose(by_text[name], served[name], atol=1e-6)
    assert not np.any(by_text["default"][2])
