"""What is written: its weights and output layer come back, or are refused where they do not fit; it
works without this project, in TF Hub's contract, and can be trained there."""

import dataclasses
import io
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file, save_file

from hub_modules.by_family.bert import BertModule
from hub_modules.by_family.elmo import ElmoModule
from hub_modules.export import native_encoder, write_module
from hub_modules.load import load_module, load_output_layer
from hub_modules.manifest import read_manifest, write_manifest
from hub_modules.native.added.settings import BottleneckAdapters, ProjectedAdapters
from hub_modules.preprocess import BertPreprocessor, hub_preprocessor
from hub_modules.shipped import PRETRAINED
from hub_modules.sources import ModuleSource, bilm_tf, huggingface
from hub_modules.sources.layouts.layer_mix import LayerMix
from tf_adapt.errors import ArtifactError, ConfigError

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##c", "d", "e"]
WORDS = ["<S>", "</S>", "<UNK>", "the", "cat"]
INPUTS = ("input_word_ids", "input_mask", "input_type_ids")
MIX = LayerMix((0.5, -1.0, 2.0), 0.25)
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


OUTPUT_SHAPES = {
    "bert": huggingface.output_shapes(CONFIGS["bert"]),
    "elmo": {"kernel": (5, 6), "bias": (5,)},
}


def random_arrays(shapes: dict, spread: float) -> dict:
    random = np.random.default_rng(3)
    return {n: random.normal(0, spread, shape).astype("float32") for n, shape in shapes.items()}


def test_an_elmo_without_a_mix_gives_the_mean():
    module = ElmoModule(native_encoder("elmo", CONFIGS["elmo"]))
    layers = [tf.fill([1, 1, 12], value) for value in (1.0, 2.0, 6.0)]
    found = module._outputs(layers, tf.ones([1, 1], tf.bool))["elmo"]
    np.testing.assert_allclose(found, np.full([1, 1, 12], 3.0), rtol=1e-6)


def source(family: str) -> ModuleSource:
    named = native_encoder(family, CONFIGS[family]).weights_by_name()
    weights = random_arrays({name: weight.shape for name, weight in named.items()}, 0.3)
    found = ModuleSource(
        family, CONFIGS[family], weights, output_layer=random_arrays(OUTPUT_SHAPES[family], 1.0)
    )
    if family == "bert":
        return dataclasses.replace(found, vocabulary=VOCABULARY, lower_case=True)
    return dataclasses.replace(found, output_words=WORDS)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> dict[str, Path]:
    """A BERT, and in half the space an ELMo with a mix of its layers."""
    folder = tmp_path_factory.mktemp("modules")
    write_module(source("bert"), folder / "bert")
    elmo = dataclasses.replace(source("elmo"), mix=MIX)
    write_module(elmo, folder / "elmo", stored_as="float16")
    return {family: folder / family for family in CONFIGS}


@pytest.mark.slow
def test_the_weights_come_back_bit_by_bit_or_rounded(written):
    for family, folder in written.items():
        module = load_module(folder)
        assert module.mix == (MIX if family == "elmo" else None)
        for name, weight in module.encoder.weights_by_name().items():
            stored = source(family).weights[name]
            if family == "elmo":
                stored = stored.astype("float16")
            assert weight.dtype == "float32"
            np.testing.assert_array_equal(weight, stored.astype("float32"))


def test_weights_beyond_the_range_of_half_precision_are_refused(tmp_path):
    large = source("bert")
    large.weights["pooler/bias"][3] = 1e5
    with pytest.raises(ArtifactError, match="pooler/bias: expected numbers up to 65504 .* 100000"):
        write_module(large, tmp_path / "out", stored_as="float16")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_existing_folder_is_not_overwritten(written):
    with pytest.raises(ArtifactError, match="does not exist yet"):
        write_module(source("bert"), written["bert"])


def test_a_weight_of_another_shape_leaves_nothing_behind(tmp_path):
    wrong = source("bert")
    wrong.weights["pooler/bias"] = np.zeros(9, "float32")
    with pytest.raises(ArtifactError, match="pooler/bias"):
        write_module(wrong, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_program_of_an_encoder_computes_its_adapters():
    for added in [BottleneckAdapters(4), ProjectedAdapters(4)]:
        encoder = native_encoder("bert", CONFIGS["bert"])
        encoder.add(added)
        random = np.random.default_rng(3)
        for weight in encoder.weights:
            weight.assign_add(random.normal(0, 0.3, weight.shape))
        inputs = {name: tf.constant([[1, 1, 1]]) for name in INPUTS}
        expected = encoder(inputs)
        got = BertModule(encoder)(inputs)
        np.testing.assert_allclose(got["pooled_output"], expected["pooled"], atol=1e-6)
        np.testing.assert_allclose(got["sequence_output"], expected["layers"][-1], atol=1e-6)


@pytest.mark.slow
def test_the_output_layer_comes_back_bit_by_bit_and_a_change_shows(written, tmp_path):
    for family in CONFIGS:
        folder = shutil.copytree(written[family], tmp_path / family)
        encoder = load_module(folder).encoder
        layer, words = load_output_layer(folder, encoder)
        assert words == (WORDS if family == "elmo" else None)
        for name, array in source(family).output_layer.items():
            np.testing.assert_array_equal(layer.weights_by_name()[name].numpy(), array)
        name = "output_words.txt" if family == "elmo" else "output_layer.npz"
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)
        with pytest.raises(ArtifactError, match=f"{name} does not have the SHA-256"):
            load_output_layer(folder, encoder)
        with pytest.raises(ArtifactError, match=f"{name} does not have the SHA-256"):
            load_module(folder)


def test_an_output_layer_that_is_not_in_the_manifest_is_refused(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "m")
    assert load_output_layer(folder, load_module(folder).encoder) is None
    (folder / "output_layer.npz").write_bytes(b"added")
    with pytest.raises(ArtifactError, match="not in the manifest"):
        load_module(folder)


def bomb(path):
    """An archive whose array claims 2^50 numbers."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (2**50,)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("kernel.npy", header.getvalue() + b"1234")


UNFIT = {
    "declares more than it holds": bomb,
    "not arrays of numbers": lambda path: path.write_bytes(b"PK not a zip"),
    r"expected the arrays \['bias'": lambda path: np.savez(path, kernel=np.zeros((5, 6), "f4")),
    r"kernel: expected floating-point numbers of shape \(5, 6\), got float32 of shape": (
        lambda path: np.savez(path, kernel=np.zeros((5, 7), "f4"), bias=np.zeros(5, "f4"))
    ),
    "got int32": lambda path: np.savez(path, kernel=np.zeros((5, 6), "i4"), bias=np.zeros(5, "f4")),
    "bias: expected finite numbers": lambda path: np.savez(
        path, kernel=np.zeros((5, 6), "f4"), bias=np.full(5, np.nan, "f4")
    ),
    "not arrays of numbers|got object": lambda path: np.savez(
        path, kernel=np.array([{}]), bias=np.zeros(5, "f4")
    ),
}


@pytest.mark.slow
def test_output_layers_that_do_not_fit(written, tmp_path):
    """In a source that is converted, and in a module whose author wrote the manifest."""
    folder = shutil.copytree(written["elmo"], tmp_path / "module")
    encoder = load_module(folder).encoder
    contract = read_manifest(folder).model_dump(exclude={"format", "files"}, exclude_unset=True)
    path = folder / "output_layer.npz"
    for message, write in UNFIT.items():
        path.unlink()
        write(path)
        write_manifest(folder, contract)
        with pytest.raises(ArtifactError, match=message):
            load_output_layer(folder, encoder)


@pytest.mark.slow
def test_a_black_box_has_no_output_layer(written):
    program = load_module(written["bert"], execution="saved_model").encoder
    with pytest.raises(ConfigError, match="needs the native encoder"):
        load_output_layer(written["bert"], program)


def test_an_output_layer_of_another_encoder_leaves_nothing_behind(tmp_path):
    wrong = source("bert")
    wrong.output_layer["bias"] = np.zeros(9, "float32")
    with pytest.raises(ArtifactError, match=r"bias: expected shape \(10,\), got \(9,\)"):
        write_module(wrong, tmp_path / "m")
    with pytest.raises(ArtifactError, match="expected the output layer's words, got none"):
        write_module(dataclasses.replace(source("elmo"), output_words=None), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def foreign(layer):
    return {
        "predictions.transform.dense.weight": np.ascontiguousarray(layer["dense/kernel"].T),
        "predictions.transform.dense.bias": layer["dense/bias"],
        "predictions.transform.LayerNorm.weight": layer["layer_norm/gamma"],
        "predictions.transform.LayerNorm.bias": layer["layer_norm/beta"],
        "predictions.bias": layer["bias"],
        "predictions.decoder.bias": layer["bias"],
        "seq_relationship.bias": np.zeros(2, "float32"),
    }


@pytest.mark.parametrize("apart", [True, False])
def test_output_layers_of_huggingface(tmp_path, apart):
    wanted = source("bert")
    huggingface.write(
        dataclasses.replace(wanted, config=wanted.config | _defaults(), output_layer=None),
        tmp_path / "hf",
    )
    arrays = foreign(wanted.output_layer)
    model = tmp_path / "hf/model.safetensors"
    if apart:
        save_file(arrays, tmp_path / "hf/heads.safetensors")
    else:
        arrays = {f"cls.{name}": array for name, array in arrays.items()}
        save_file(load_file(model) | arrays, model)
    found = huggingface.read(tmp_path / "hf")
    for name, array in wanted.output_layer.items():
        np.testing.assert_array_equal(found.output_layer[name], array)
    prefix = "" if apart else "cls."
    assert found.left_out == (f"{prefix}predictions.decoder.bias", f"{prefix}seq_relationship.bias")


@pytest.mark.parametrize("tied", [True, False])
def test_an_output_that_is_not_tied_is_left_out(tmp_path, tied):
    wanted = source("bert")
    huggingface.write(
        dataclasses.replace(wanted, config=wanted.config | _defaults()), tmp_path / "hf"
    )
    table = wanted.weights["embeddings/word_embeddings"] + (0 if tied else 1)
    arrays = foreign(wanted.output_layer) | {"predictions.decoder.weight": table}
    save_file(arrays, tmp_path / "hf/heads.safetensors")
    found = huggingface.read(tmp_path / "hf")
    assert (found.output_layer is not None) == tied
    assert "predictions.decoder.weight" in found.left_out


def _defaults():
    return {
        "type_vocabulary_size": 2,
        "activation": "gelu_tanh",
        "layer_norm_epsilon": 1e-12,
        "dropout": 0.1,
        "attention_dropout": 0.1,
    }


def test_output_layers_of_bilm_tf(tmp_path):
    wanted = source("elmo")
    rest = {
        "num_layers": 2,
        "skip_connections": True,
        "cell_clip": 3.0,
        "projection_clip": 3.0,
        "activation": "relu",
    }
    bilm_tf.write(dataclasses.replace(wanted, config=wanted.config | rest), tmp_path / "elmo")
    assert bilm_tf.read(tmp_path / "elmo").output_layer is None
    layer = wanted.output_layer
    np.savez(tmp_path / "elmo/softmax.npz", W=layer["kernel"], b=layer["bias"])
    (tmp_path / "elmo/vocab.txt").write_text("\n".join([*WORDS[:3], "!!!MAXTERMID", *WORDS[3:]]))
    found = bilm_tf.read(tmp_path / "elmo")
    assert found.output_words == WORDS
    np.testing.assert_array_equal(found.output_layer["kernel"], layer["kernel"])
    np.testing.assert_array_equal(found.output_layer["bias"], layer["bias"])
    (tmp_path / "elmo/vocab.txt").write_text("\n".join(WORDS[:4]))
    with pytest.raises(ArtifactError, match=r"softmax.npz: W: expected .* shape \(4, 6\)"):
        bilm_tf.read(tmp_path / "elmo")


def test_a_real_output_layer_is_read_as_it_is_stored(shared):
    folder = shared / "models" / "bert_small"
    theirs = load_file(folder / "heads.safetensors")
    ours = huggingface.read(folder, lower_case=True).output_layer
    for name, array in {
        "dense/kernel": theirs["predictions.transform.dense.weight"].T,
        "layer_norm/gamma": theirs["predictions.transform.LayerNorm.weight"],
        "bias": theirs["predictions.bias"],
    }.items():
        np.testing.assert_array_equal(ours[name], array.astype("float32"))
    for shipped in ("bert_small", "elmo_small"):
        assert not (PRETRAINED / shipped / "output_layer.npz").exists()


# Runs in a process that must not see this project: TensorFlow, tensorflow-text and tensorflow-hub.
STRANGER = """
import json, sys
import numpy as np, tensorflow as tf, tensorflow_text, tensorflow_hub as hub, tf_keras
def plain(value):
    return [plain(v) for v in value] if isinstance(value, list) else value.numpy().tolist()
def preprocessed(module, folder, text):
    # hub.KerasLayer is a Keras 2 layer: it enters tf_keras models.
    inputs = [tf_keras.Input([], dtype=tf.string) for _ in range(2)]
    tokenize = hub.KerasLayer(module.tokenize)
    pack = hub.KerasLayer(module.bert_pack_inputs, arguments={"seq_length": 7})
    pair = tf_keras.Model(inputs, pack([tokenize(one) for one in inputs]))
    single = tf_keras.Model(inputs[0], hub.KerasLayer(folder)(inputs[0]))
    mapped = next(iter(tf.data.Dataset.from_tensors(text).map(lambda one: single(one))))
    found = pair([text, text]), single(text), mapped
    return [inputs["input_word_ids"].numpy().tolist() for inputs in found]
def got(family, folder):
    if family == "bert":
        preprocess = hub.load(folder + "/preprocess")
        text = tf.constant(["a bc d", "e"])
        values = preprocess.bert_pack_inputs([preprocess.tokenize(text)], seq_length=6)
        inputs = {name: tf_keras.Input([None], dtype="int32", name=name) for name in values}
        ids = preprocessed(preprocess, folder + "/preprocess", text)
    else:
        ids = None
        tokens, lengths = tf.constant([["a", "bc"], ["e", ""]]), tf.constant([2, 1])
        values = {"tokens": tokens, "sequence_len": lengths}
        inputs = {"tokens": tf_keras.Input([None], dtype="string", name="tokens"),
                  "sequence_len": tf_keras.Input([], dtype="int32", name="sequence_len")}
    encoder = hub.load(folder + "/encoder")
    outputs = encoder(values, training=False)
    layer = hub.KerasLayer(folder + "/encoder", trainable=True)
    output = layer(inputs)["pooled_output" if family == "bert" else "elmo"]
    if family == "elmo":
        output = tf_keras.layers.GlobalMaxPooling1D()(output)
    model = tf_keras.Model(inputs, tf_keras.layers.Dense(1)(output))
    model.compile("sgd", "mse")
    before = [variable.numpy() for variable in layer.trainable_weights]
    model.fit(values, np.ones([2, 1]), epochs=2, verbose=0)
    moved = {new.name: bool(np.any(old != new.numpy()))
             for old, new in zip(before, layer.trainable_weights)}
    return {"outputs": {k: plain(v) for k, v in outputs.items()}, "moved": moved, "ids": ids,
            "variables": len(encoder.trainable_variables)}
print(json.dumps({family: got(family, sys.argv[1] + "/" + family) for family in ("bert", "elmo")}))
assert "hub_modules" not in sys.modules and "tf_adapt" not in sys.modules
"""


def ours(folder: Path, texts: list[str]) -> dict:
    module = load_module(folder)
    return module.encoder(module.preprocessor(texts))


@pytest.mark.slow
def test_plain_hub_loads_and_trains_it_and_gets_our_numbers(written, tmp_path):
    finished = subprocess.run(
        [sys.executable, "-I", "-c", STRANGER, str(written["bert"].parent)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    got = json.loads(finished.stdout.strip().splitlines()[-1])
    bert, elmo = (
        {name: np.array(value) for name, value in got[family]["outputs"].items()}
        for family in ("bert", "elmo")
    )
    outputs = ours(written["bert"], ["a bc d", "e"])
    mask = np.asarray(outputs["mask"])
    theirs = [bert["embedding_output"], *bert["encoder_outputs"]]
    for one, other in zip(theirs, outputs["layers"], strict=True):
        np.testing.assert_allclose(one[mask], np.asarray(other)[mask], atol=1e-5)
    np.testing.assert_allclose(bert["pooled_output"], outputs["pooled"], atol=1e-5)
    np.testing.assert_array_equal(bert["default"], bert["pooled_output"])
    np.testing.assert_array_equal(bert["sequence_output"], bert["encoder_outputs"][-1])
    # The same number added to every key changes no attention: its gradient is zero.
    still = {name for name, moved in got["bert"]["moved"].items() if not moved}
    assert got["bert"]["variables"] == 39 and all("attention/key/bias" in name for name in still)

    texts = tf.constant(["a bc d", "e"])
    preprocess = hub_preprocessor(BertPreprocessor(VOCABULARY, lower_case=True))
    words = preprocess.tokenize(texts)
    pair, single, mapped = got["bert"]["ids"]
    assert pair == preprocess.bert_pack_inputs([words, words], 7)["input_word_ids"].numpy().tolist()
    assert single == mapped == preprocess(texts)["input_word_ids"].numpy().tolist()

    layers = [np.asarray(layer) for layer in ours(written["elmo"], ["a bc", "e"])["layers"]]
    np.testing.assert_allclose(elmo["word_emb"], layers[0][..., :6], atol=1e-5)
    np.testing.assert_allclose(elmo["lstm_outputs1"], layers[1], atol=1e-5)
    np.testing.assert_allclose(elmo["lstm_outputs2"], layers[2], atol=1e-5)
    shares = np.exp(MIX.weights) / np.sum(np.exp(MIX.weights))
    mixed = MIX.scale * np.tensordot(shares, layers, 1)
    np.testing.assert_allclose(elmo["elmo"], mixed, atol=1e-5)
    np.testing.assert_allclose(elmo["default"], mixed.sum(1) / [[2], [1]], atol=1e-5)
    assert got["elmo"]["variables"] == 25 and all(got["elmo"]["moved"].values())


@pytest.mark.slow
def test_elmo_takes_raw_text_as_its_second_signature(written):
    module = tf.saved_model.load(str(written["elmo"] / "encoder"))
    by_text = module(tf.constant(["The cat sat", "Hello", ""]))
    tokens = tf.constant([["The", "cat", "sat"], ["Hello", "", ""], ["", "", ""]])
    lengths = tf.constant([3, 1, 0])
    by_tokens = module.signatures["tokens"](tokens=tokens, sequence_len=lengths)
    served = module.signatures["default"](text=tf.constant(["The cat sat", "Hello", ""]))
    for name in ("word_emb", "lstm_outputs1", "lstm_outputs2", "elmo", "default"):
        np.testing.assert_allclose(by_text[name], by_tokens[name], atol=1e-6)
        np.testing.assert_allclose(by_text[name], served[name], atol=1e-6)
    assert not np.any(by_text["default"][2])
