"""A GPT-2 as a user meets it: converted, loaded, frozen and tuned, on each kind of task, served."""

import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner
from small_data import RECORDS, TASKS, TEXTS

import tf_adapt as ta
from tf_adapt.commands.main import cli
from tf_adapt.data.batches import prepare
from tf_adapt.encoder.feature_cache import with_features
from tf_adapt.errors import ConfigError
from tf_adapt.training.finished.module_export import module_source

RECORDED = Path(__file__).parents[1] / "parity" / "recorded" / "huggingface_gpt2"
# Runs in a process that must not see this project.
STRANGER = """
import json, sys
import tensorflow as tf
import tensorflow_text
folder, texts = json.load(sys.stdin)
encode, preprocess = (tf.saved_model.load(f"{folder}/{part}") for part in ("encoder", "preprocess"))
inputs = preprocess(tf.constant(texts), 24)
found = {name: part.numpy().tolist() for name, part in encode(inputs, training=False).items()
         if name in ("pooled_output", "sequence_output")}
assert not [name for name in sys.modules if name.split(".")[0] in ("tf_adapt", "hub_modules")]
print(json.dumps([found, inputs["input_word_ids"].numpy().tolist()]))
"""


@pytest.mark.large
def test_the_module_works_without_this_project(tmp_path):
    converted = tmp_path / "gpt2"
    arguments = ["module", "convert", "--from", "huggingface", str(RECORDED / "model")]
    result = CliRunner().invoke(cli, [*arguments, "--out", str(converted)])
    assert result.exit_code == 0, result.output
    command = [sys.executable, "-P", "-c", STRANGER]
    given = json.dumps([str(converted), TEXTS])
    done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    outputs, ids = json.loads(done.stdout.splitlines()[-1])
    encoder = ta.HubEncoder(converted)
    inputs = encoder.preprocessor(TEXTS)
    np.testing.assert_array_equal(
        np.array(ids)[:, : inputs["input_word_ids"].shape[1]], inputs["input_word_ids"]
    )
    np.testing.assert_allclose(outputs["pooled_output"], encoder(inputs)["pooled"], atol=1e-5)


def trained(handle, kind: str, adaptation: str, **options):
    keras.utils.set_random_seed(2)
    task, records = TASKS[kind], RECORDS[kind]
    frozen = adaptation == "feature_extraction"
    encoder = ta.HubEncoder(handle, trainable=not frozen, **options)
    model = ta.build_model(task, encoder, adaptation=adaptation)
    optimizer = keras.optimizers.Adam(0.01)
    model.compile(optimizer, loss=task.loss, metrics=task.metrics, run_eagerly=True)
    before = {name: weight.numpy() for name, weight in encoder.native.weights_by_name().items()}
    model.fit(ta.batches(records, task, encoder, batch_size=2), epochs=1, verbose=0)
    after = encoder.native.weights_by_name()
    return model, {name for name, old in before.items() if (after[name].numpy() != old).any()}


@pytest.mark.slow
def test_tags_tuned_and_served(shallow_causal, tmp_path):
    model, changed = trained(shallow_causal, "tagging", "fine_tuning")
    assert changed >= everything_but_key_biases(model)
    sentences = [record.words for record in RECORDS["tagging"]]
    ta.export(model, tmp_path / "export")
    serve = tf.saved_model.load(tmp_path / "export").signatures["serving_default"]
    longest = max(map(len, sentences))
    tokens = [words + [""] * (longest - len(words)) for words in sentences]
    found = serve(tokens=tf.constant(tokens))["scores"].numpy()
    for row, one in zip(found, ta.predict(model, sentences), strict=True):
        np.testing.assert_allclose(row[: len(one.scores)].max(axis=-1), one.scores, atol=1e-5)


def everything_but_key_biases(model) -> set[str]:
    """Adding one number to all scores of a query changes no attention weight."""
    names = model.encoder.native.weights_by_name()
    return {name for name in names if not name.endswith("attention/key/bias")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adaptation", "options", "learning"),
    [
        ("top_layers", {"classification_token": True}, {"layer_1", "final_norm", "embeddings"}),
        (
            "adapters",
            {"classification_token": True},
            {"layer_0", "layer_1", "final_norm", "embeddings"},
        ),
    ],
)
def test_only_what_an_adaptation_trains_changes(tiny_causal, adaptation, options, learning):
    model, changed = trained(tiny_causal, "classification", adaptation, **options)
    assert {name.split("/")[0] for name in changed} == learning
    if "embeddings" in learning:
        inside = {name for name in changed if name.startswith("embeddings")}
        assert inside == {"embeddings/new/words"}
    if adaptation == "adapters":
        assert all("norm" in name or "adapter" in name or "/new/" in name for name in changed)


def test_the_classification_token_ends_each_row_and_is_pooled(tiny_causal):
    keras.utils.set_random_seed(0)
    encoder = ta.HubEncoder(tiny_causal, classification_token=True)
    plain = ta.HubEncoder(tiny_causal)
    inputs, before = encoder.preprocessor(TEXTS), plain.preprocessor(TEXTS)
    last = inputs["input_mask"].numpy().sum(axis=1) - 1
    rows = np.arange(len(TEXTS))
    ids = inputs["input_word_ids"].numpy()
    assert (ids[rows, last] == plain.native.vocabulary_size).all()
    ids[rows, last] = before["input_word_ids"].numpy()[rows, last]
    np.testing.assert_array_equal(ids, before["input_word_ids"])
    encoded, other = encoder(inputs), plain(before)
    top = encoded["layers"][-1].numpy()
    np.testing.assert_array_equal(encoded["pooled"], top[rows, last])
    assert np.abs(encoded["pooled"] - other["pooled"]).min(axis=0).max() > 0
    names = [name for name, _ in encoder.layer_groups]
    assert names == ["embeddings", "layer_0", "layer_1", "new_embeddings"]
    assert encoder.layer_names == ["embeddings", "layer_0", "layer_1"]
    copy = ta.HubEncoder.from_config(encoder.get_config())
    assert copy.classification_token
    with pytest.raises(ConfigError, match="no place for the embedding of a classification token"):
        module_source(ta.build_model(TASKS["classification"], encoder))


@pytest.mark.slow
def test_features_with_another_new_row_are_others(tiny_causal, tmp_path):
    task, found = TASKS["classification"], []
    for seed in (0, 1, 1):
        keras.utils.set_random_seed(seed)
        encoder = ta.HubEncoder(tiny_causal, trainable=False, classification_token=True)
        data = prepare(RECORDS["classification"], task, encoder)
        _, pooled = with_features(data, encoder, cache=str(tmp_path)).features[0]
        found.append(np.concatenate([pooled.rows(number) for number in range(4)]))
    np.testing.assert_array_equal(found[1], found[2])
    assert (np.abs(found[0] - found[1]).max(axis=1) > 0).all()


def test_a_classification_token_needs_a_native_causal_module(tiny_bert):
    with pytest.raises(ConfigError, match="classification_token=True .* got kind bert"):
        ta.HubEncoder(tiny_bert, classification_token=True)
    with pytest.raises(ConfigError, match="got kind causal, execution saved_model"):
        ta.HubEncoder("lm_small", execution="saved_model", classification_token=True)
