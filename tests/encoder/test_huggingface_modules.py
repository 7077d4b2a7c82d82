"""A GPT-2, a ModernBERT and an MPNet as a user meets them: converted, loaded, adapted, served.

(What only a GPT-2 has: test_causal_modules.py.)
"""

import json
import re
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner
from huggingface_folders import edit_json, edit_weights
from small_data import RECORDS, TASKS, TEXTS

import tf_adapt as ta
from hub_modules.load import load_module, module_text_settings
from hub_modules.sources import huggingface
from tf_adapt.commands.main import cli
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.training.finished.module_export import module_source

RECORDINGS = Path(__file__).parents[1] / "parity" / "recorded"
MODERN_BERT = {"layer_0", "layer_1", "final_norm"}
CAUSAL = {"embeddings", "layer_0", "layer_1", "final_norm"}
FOLDERS = {"causal": "huggingface_gpt2"}
POSITIONS = {"causal": 48, "modern_bert": 64, "mpnet": 200}


@pytest.fixture(scope="module", params=POSITIONS)
def family(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def published(family, tmp_path_factory) -> Path:
    """A recorded model, cut to two layers: a program is traced layer by layer."""
    folder = tmp_path_factory.mktemp("published") / family
    shutil.copytree(RECORDINGS / FOLDERS.get(family, f"huggingface_{family}") / "model", folder)
    changes = {"n_layer" if family == "causal" else "num_hidden_layers": 2}
    if family == "modern_bert":
        changes["layer_types"] = ["full_attention", "sliding_attention"]
    edit_json(folder / "config.json", **changes)
    edit_weights(
        folder,
        lambda arrays: {n: a for n, a in arrays.items() if not re.search(r"\.[23]\.", n)},
    )
    return folder


@pytest.fixture(scope="module")
def converted(published, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("converted") / published.name
    arguments = ["module", "convert", "--from", "huggingface", str(published)]
    result = CliRunner().invoke(cli, [*arguments, "--out", str(folder)])
    assert result.exit_code == 0, result.output
    return folder


@pytest.mark.slow
def test_a_converted_module_has_every_weight_bit_for_bit(family, published, converted):
    source = huggingface.read(published)
    loaded = load_module(converted)
    assert (loaded.family, loaded.execution) == (family, "native")
    assert loaded.max_length == POSITIONS[family]
    for name, weight in loaded.encoder.weights_by_name().items():
        np.testing.assert_array_equal(weight, source.weights[name])
    for name, value in module_text_settings(converted).items():
        assert value == getattr(source, name)


@pytest.mark.slow
def test_the_modules_own_program_computes_the_same(family, converted):
    native, program = ta.HubEncoder(converted), ta.HubEncoder(converted, execution="saved_model")
    assert (program.family, program.num_layers) == (family, native.num_layers)
    found, expected = program(TEXTS), native(TEXTS)
    for one, other in zip(found["layers"], expected["layers"], strict=True):
        np.testing.assert_allclose(one[expected["mask"]], other[expected["mask"]], atol=1e-5)
    np.testing.assert_allclose(found["pooled"], expected["pooled"], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["modern_bert"], indirect=True)
def test_what_does_not_fit_is_refused(family, published, converted, tmp_path):
    with pytest.raises(ConfigError, match="keep_layers .* got a ModernBERT, whose layers"):
        ta.HubEncoder(converted, keep_layers=[0])
    for adaptation, message in [
        (ta.adapters("projected_attention"), "the families bert, .*; take adapters, lora or fine_"),
        (ta.bitfit(), "expected an encoder with biases, .* which has none"),
    ]:
        with pytest.raises(ConfigError, match=message):
            ta.build_model(ta.Task("regression"), ta.HubEncoder(converted), adaptation=adaptation)
    changed = tmp_path / "changed"
    shutil.copytree(converted, changed)
    (changed / "added_tokens.json").write_text("{}")
    with pytest.raises(ArtifactError, match="added_tokens.json: expected .* bytes"):
        load_module(changed)
    broken = tmp_path / "broken"
    shutil.copytree(published, broken)
    config = (broken / "config.json").read_text()
    (broken / "config.json").write_text(config.replace('"norm_bias": false', '"norm_bias": true'))
    with pytest.raises(ArtifactError, match="norm_bias: expected false, got 'True'; such a model"):
        huggingface.read(broken)
    settings = json.loads(config)
    for changed, message in [
        ({"layer_types": [{}, *settings["layer_types"][1:]]}, "layer_types: expected 2 times full"),
        (
            {"local_attention": 1},
            "local_attention: .*greater than or equal to 2, got 1",
        ),
        ({"num_attention_heads": settings["hidden_size"]}, "should be even, for rotary"),
    ]:
        (broken / "config.json").write_text(json.dumps(settings | changed))
        with pytest.raises(ArtifactError, match=message):
            huggingface.read(broken)
    (broken / "config.json").write_text(config)
    (broken / "tokenizer.json").unlink()
    with pytest.raises(ArtifactError, match="expected the tokenizer of a ModernBERT, got no such"):
        load_module(broken)
    (broken / "config.json").write_text(config[:-9])
    with pytest.raises(ArtifactError, match="config.json: expected JSON.*the file is damaged"):
        load_module(broken)


def test_mpnets_buckets_are_bounded(tmp_path):
    shutil.copytree(RECORDINGS / "huggingface_mpnet" / "model", tmp_path / "mpnet")
    path = tmp_path / "mpnet" / "config.json"
    settings = json.loads(path.read_text()) | {"relative_attention_num_buckets": 512}
    path.write_text(json.dumps(settings))
    with pytest.raises(ArtifactError, match="config.json: num_buckets: .*less than 512, got 512"):
        huggingface.read(tmp_path / "mpnet")


def test_a_name_of_a_hub_is_converted():
    arguments = ["module", "convert", "--from", "huggingface", "hf://a/b--c", "--out", "none"]
    assert "expected hf://ORG/NAME" in CliRunner().invoke(cli, arguments).output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "kind", "adaptation", "learning"),
    [
        ("tiny_modern_bert", "tagging", "fine_tuning", MODERN_BERT | {"embeddings"}),
        ("tiny_mpnet", "pair_classification", "top_layers", {"layer_1", "pooler"}),
        ("tiny_causal", "pair_classification", "fine_tuning", CAUSAL),
        ("tiny_modern_bert", "classification", ta.lora(rank=2), {"layer_0_query_lora"}),
        pytest.param(
            *("tiny_modern_bert", "classification", ta.adapters(size=3)),
            {"embeddings", "final_norm"},
            marks=pytest.mark.large,
        ),
    ],
)
def test_adapted_exported_and_a_module_again(module, request, tmp_path, kind, adaptation, learning):
    keras.utils.set_random_seed(2)
    task = TASKS[kind]
    handle = request.getfixturevalue(module)
    encoder = ta.HubEncoder(handle)
    model = ta.build_model(task, encoder, adaptation=adaptation)
    before = {name: weight.numpy() for name, weight in encoder.native.weights_by_name().items()}
    model.compile(
        keras.optimizers.Adam(0.01), loss=task.loss, metrics=task.metrics, run_eagerly=True
    )
    model.fit(ta.batches(RECORDS[kind], task, encoder, batch_size=2), epochs=1, verbose=0)
    after = encoder.native.weights_by_name()
    changed = {name for name, old in before.items() if (after[name].numpy() != old).any()}
    groups = {name.split("/")[0] for name in changed}
    assert groups >= learning
    if adaptation in ("top_layers", "fine_tuning"):
        assert groups == learning
        again = load_module(handle).encoder
        source = module_source(model)
        again.load_weights_by_name(source.weights)
        for name, value in module_text_settings(handle).items():
            assert getattr(source, name) == value
        inputs = model.encoder.preprocessor(TEXTS)
        np.testing.assert_array_equal(again(inputs)["pooled"], model.encoder(inputs)["pooled"])
    else:
        word = "adapter" if "embeddings" in learning else "lora"
        assert all(word in name or "norm" in name for name in changed)
    if kind == "classification":
        ta.export(model, tmp_path / "export")
        serve = tf.saved_model.load(tmp_path / "export").signatures["serving_default"]
        found = serve(text=tf.constant(TEXTS))["scores"].numpy()
        expected = [answer.scores for answer in ta.predict(model, TEXTS)]
        np.testing.assert_allclose(found, expected, atol=1e-5)
