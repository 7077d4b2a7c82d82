"""Presets that keras-hub saved: the same outputs and the same ids as keras-hub itself."""

import json
import shutil

import keras_hub
import numpy as np
import pytest
import tensorflow as tf
from huggingface_folders import FAMILIES

import tf_adapt as ta
from hub_modules import huggingface_handles
from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.load import load_module, module_text_settings
from hub_modules.storage.fetching import fetching
from tf_adapt.config.reading import config_from
from tf_adapt.training.finished.module_export import export_huggingface
from tf_adapt.training.train import train

TEXTS = ["two dogs run over the old bridge , and a cafe closes", "they will be late", "the"]
OTHERS = ["a dog is running", "nothing of this", "the town"]


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def given(packed: dict) -> dict:
    return {
        "token_ids": packed["input_word_ids"],
        "padding_mask": packed["input_mask"],
        "segment_ids": packed["input_type_ids"],
    }


def test_states_and_ids_are_those_of_keras_hub_and_each_group_is_there_once(family, preset):
    folder, backbone, tokenizer = preset(family)
    module = load_module(f"keras:{folder}")
    packed = module.preprocessor((TEXTS, OTHERS))
    inputs = {name: value for name, value in given(packed).items() if name in backbone.input}
    expected = backbone(inputs)
    pooled = None
    if isinstance(expected, dict):
        expected, pooled = expected["sequence_output"], expected["pooled_output"]
    encoded = module.encoder(packed)
    real = packed["input_mask"].numpy() == 1
    got = np.asarray(encoded["layers"][-1])
    np.testing.assert_allclose(got[real], np.asarray(expected)[real], atol=1e-5)
    first = np.asarray(expected)[:, 0] if pooled is None else pooled
    np.testing.assert_allclose(encoded["pooled"], first, atol=1e-5)
    assert module.max_length == 40
    assert (module.family, module.execution) == ("keras", "native")
    pieces = module.preprocessor.tokenize(tf.constant(TEXTS))
    assert pieces.to_list() == [list(map(int, row)) for row in tokenizer(TEXTS)]
    groups = module.encoder.layer_groups
    weights = [id(weight) for _, group in groups for weight in group]
    assert sorted(weights) == sorted(map(id, module.encoder.weights))
    blocks = 1 if family == "albert" else 2
    names = ["embeddings", *(f"layer_{index}" for index in range(blocks))]
    with_pooler = family in ("bert", "albert", "electra")
    assert [name for name, _ in groups] == names + ["pooler"] * with_pooler
    assert module.encoder.num_states == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", ["bert", pytest.param("roberta", marks=pytest.mark.large)], indirect=True
)
def test_pairs_are_packed_as_by_keras_hub(family, preset):
    folder, _, tokenizer = preset(family)
    name = type(tokenizer).__name__.replace("Tokenizer", "TextClassifierPreprocessor")
    own = getattr(keras_hub.models, name)(tokenizer, sequence_length=40)
    data = tf.data.Dataset.from_tensors((TEXTS, OTHERS)).map(lambda *pair: own(x=pair))
    expected = next(iter(data))
    packed = load_module(f"keras:{folder}", pretrained=False).preprocessor((TEXTS, OTHERS))
    time = packed["input_word_ids"].shape[1]
    np.testing.assert_array_equal(packed["input_word_ids"], expected["token_ids"][:, :time])
    np.testing.assert_array_equal(packed["input_mask"], expected["padding_mask"][:, :time])
    if "segment_ids" in expected:
        np.testing.assert_array_equal(packed["input_type_ids"], expected["segment_ids"][:, :time])


def test_a_bert_by_its_folder_is_native(preset, tmp_path):
    folder, backbone, tokenizer = preset("bert")
    module = load_module(folder)
    assert (module.family, module.execution, module.max_length) == ("bert", "native", 40)
    packed = module.preprocessor((TEXTS, OTHERS))
    expected, encoded = backbone(given(packed)), module.encoder(packed)
    real = packed["input_mask"].numpy() == 1
    top = np.asarray(expected["sequence_output"])
    np.testing.assert_allclose(encoded["layers"][-1][real], top[real], atol=1e-5)
    np.testing.assert_allclose(encoded["pooled"], expected["pooled_output"], atol=1e-5)
    assert module_text_settings(folder)["vocabulary"] == tokenizer.get_vocabulary()
    copy = changed(folder, tmp_path, lambda copied: None)
    # A finished run in keras-hub's layers is still that of this module.
    assert load_module(f"keras:{copy}").hash == module.hash
    export_huggingface(folder, tmp_path / "written")
    again = load_module(tmp_path / "written").encoder(packed)
    np.testing.assert_allclose(again["pooled"], encoded["pooled"], atol=1e-6)
    edit_config(num_layers=3)(copy)
    with pytest.raises(ArtifactError, match="model.weights.h5: expected 55 weights, 16 are miss"):
        load_module(copy)


@pytest.mark.slow
def test_a_run_of_before_on_the_folder_of_a_bert_is_still_loaded(preset, tmp_path, monkeypatch):
    """It was trained in keras-hub's layers."""
    config = config_from(
        {
            "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 8},
            "encoder": {"handle": str(preset("bert")[0])},
            "adaptation": {"name": "top_layers", "layers": 1},
            "training": {"epochs": 1, "batch_size": 8, "truncate": True},
        },
        "test",
    )
    with monkeypatch.context() as patched:
        patched.setattr(huggingface_handles, "NATIVE_PRESETS", {})
        assert train(config, tmp_path / "run")["family"] == "keras"
        expected = ta.predict(ta.load_run(tmp_path / "run"), TEXTS)
    model = ta.load_run(tmp_path / "run")
    assert model.encoder.family == "keras"
    assert ta.predict(model, TEXTS) == expected


def test_random_weights_on_request(preset):
    folder, backbone, _ = preset("roberta")
    encoder = load_module(folder, pretrained=False).encoder
    name = "transformer_layer_0/self_attention_layer/query/kernel"
    stored = {weight.path: weight for weight in backbone.weights}[name]
    assert not np.allclose(encoder.weights_by_name()[name], stored)


def test_frozen_layers_are_in_inference_mode(preset):
    folder, _, _ = preset("deberta_v3")
    path = folder.parent / "dropped"
    shutil.copytree(folder, path, dirs_exist_ok=True)
    content = json.loads((path / "config.json").read_text("utf-8"))
    content["config"]["dropout"] = 0.9
    (path / "config.json").write_text(json.dumps(content), "utf-8")
    module = load_module(path)
    packed, encoder = module.preprocessor(TEXTS), module.encoder
    expected = [np.asarray(layer) for layer in encoder(packed, training=False)["layers"]]
    for name, weights in encoder.layer_groups:
        for weight in weights:
            weight.trainable = name == "layer_1"
    got = [np.asarray(layer) for layer in encoder(packed, training=True)["layers"]]
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1], expected[1])
    assert np.abs(got[2] - expected[2]).max() > 0.1


@pytest.mark.parametrize("family", ["deberta_v3"], indirect=True)
def test_a_call_can_start_above_a_layer(family, preset):
    module = load_module(preset(family)[0])
    packed = module.preprocessor(TEXTS)
    lower = module.encoder.lower_layers(packed, top=1)["layers"]
    expected = module.encoder(packed)["layers"]
    again = module.encoder(packed | {"states_of_layer_0": lower[1]})["layers"]
    assert len(again) == 2
    np.testing.assert_allclose(again[-1], expected[-1], atol=1e-6)


def changed(folder, tmp_path, edit):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    edit(copy)
    return copy


def edit_config(**values):
    def edit(folder):
        content = json.loads((folder / "config.json").read_text("utf-8"))
        content["config"] |= values
        (folder / "config.json").write_text(json.dumps(content), "utf-8")

    return edit


def edit_class(name, file="config.json"):
    def edit(folder):
        content = json.loads((folder / file).read_text("utf-8"))
        (folder / file).write_text(json.dumps(content | {"class_name": name}), "utf-8")

    return edit


def damage(folder):
    path = folder / "model.weights.h5"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_what_is_wrong_is_said(preset, tmp_path):
    for edit, message in [
        (lambda f: (f / "model.weights.h5").unlink(), "model.weights.h5: expected the weights"),
        (lambda f: (f / "tokenizer.json").unlink(), "expected the preset's tokenizer, got no such"),
        (lambda f: (f / "assets/tokenizer/merges.txt").unlink(), "merges.txt"),
        (lambda f: (f / "assets/tokenizer/vocabulary.json").unlink(), "get the whole folder again"),
        (edit_class("BertTokenizer", "tokenizer.json"), "expected RobertaTokenizer"),
        (edit_class("ViTBackbone"), "class_name: expected one of BertBackbone.*got ViTBackbone"),
        (edit_class("GPT2Backbone"), "GPT-2 reads from left to right"),
        (edit_config(num_layers=1), "the weights and the configuration do not belong together"),
        (edit_config(vocabulary_size=10**9), "expected at least 12,000,.* numbers"),
        (edit_config(max_sequence_length=10**9), r"\(positions alone: 12,000,000,000\)"),
        (edit_config(max_sequence_length=41), "do not belong together"),
        (edit_config(num_heads=5), "a hidden_dim that is a multiple of num_heads, got 12 and 5"),
        (edit_config(num_layers="2"), "num_layers: expected an integer"),
        (damage, "expected a readable HDF5 file|do not belong together"),
    ]:
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        folder = changed(preset("roberta")[0], tmp_path, edit)
        with pytest.raises(ArtifactError, match=message):
            load_module(f"keras:{folder}")


def test_options_that_are_not_possible(preset):
    for option in [
        {"execution": "saved_model"},
        {"preprocessor": "bert_small"},
    ]:
        with pytest.raises(ConfigError, match="expected none for an encoder of keras-hub's layers"):
            load_module(preset("roberta")[0], **option)


@pytest.mark.parametrize("mode", ["mean", "cls", "max"])
def test_the_vector_of_an_embedder_is_its_pooling(mode, preset, tmp_path):
    folder, backbone, tokenizer = preset("bert")
    embedder = keras_hub.models.BertTextEmbedder(backbone, pooling_mode=mode, normalize=False)
    embedder.save_to_preset(tmp_path / "preset")
    tokenizer.save_to_preset(tmp_path / "preset")
    if mode == "max":
        with pytest.raises(ArtifactError, match="pooling_mode: expected mean or cls, got 'max'"):
            load_module(tmp_path / "preset")
        return
    encoder = ta.HubEncoder(tmp_path / "preset")
    assert encoder.pooling == {"mean": "mean", "cls": "first"}[mode]
    assert ta.HubEncoder(folder).pooling is None
    packed = encoder.preprocessor(TEXTS)
    np.testing.assert_allclose(encoder(packed)["pooled"], embedder(given(packed)), atol=1e-5)


def test_the_newer_presets_are_known_by_their_names(tmp_path, monkeypatch):
    pytest.importorskip("kagglehub")
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path))
    for name in ("deberta_v3_small_en", "bge_small_v1.5_en", "multilingual_e5_base"):
        with fetching(allowed=False), pytest.raises(ArtifactError, match="not on this machine"):
            load_module(f"keras:{name}")
    message = "kagglehub.model_download.*all_minilm_l6_v2_en"
    monkeypatch.setattr("kagglehub.model_download", lambda name: 1 / 0)
    with pytest.raises(ArtifactError, match=message):
        load_module("keras:all_minilm_l6_v2_en")
