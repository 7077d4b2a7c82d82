"""From handle to encoder: verification, recognition, black box = native, faults of modules."""

import hashlib
import os
import shutil
import sys

import numpy as np
import pytest
import tensorflow as tf
from sentence_modules import write_sentence_module

import hub_modules.loading.native
from hub_modules.load import find_module, load_module, runs_natively
from hub_modules.manifest import write_manifest
from hub_modules.programs import trial
from hub_modules.shipped import PRETRAINED, shipped_names
from tf_adapt.errors import ArtifactError, ConfigError

TEXTS = ["The cat sat on the mat .", "Hello", "U.S. President Grant visited Paris , Texas ."]


def encode(module):
    units = module.preprocessor.tokenize(tf.constant(TEXTS))
    outputs = module.encoder(module.preprocessor.pack([units]))
    mask = np.asarray(outputs["mask"])
    return [np.asarray(layer)[mask] for layer in outputs["layers"]]


@pytest.fixture
def copied(tmp_path):
    """A copy of the smaller shipped module, to be damaged."""
    return shutil.copytree(PRETRAINED / "elmo_small", tmp_path / "elmo_small")


@pytest.fixture
def untried(monkeypatch):
    """No trial in a child process: see tests/faults/test_programs.py."""
    monkeypatch.setattr("hub_modules.programs.saved_model.try_out", lambda folder, kind: None)


NAMES = ["bert_small", "elmo_small", "lm_small", "lstm_small"]


def test_four_modules_ship():
    assert shipped_names() == NAMES


@pytest.mark.parametrize("name", NAMES[:3])  # an AWD-LSTM runs natively only
def test_black_box_equals_native_in_every_layer(name, record_property):
    native, black_box = load_module(name), load_module(name, execution="saved_model")
    assert (native.execution, black_box.execution) == ("native", "saved_model")
    pairs = list(zip(encode(native), encode(black_box), strict=True))
    assert len(pairs) == {"bert_small": 4, "elmo_small": 3, "lm_small": 5}[name]
    # The states of a GPT-2 are not normalised: they grow from layer to layer.
    difference = max(
        np.abs(one - other).max() / max(1.0, np.abs(one).max()) for one, other in pairs
    )
    record_property("largest difference", float(difference))
    assert difference < 1e-5


def test_what_runs_natively_is_known_before_it_is_loaded(tiny_bert, reference, tmp_path):
    sentences = write_sentence_module(tmp_path / "sentences")
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("the 0.1 0.2\n")
    native = ["bert_small", tiny_bert, reference / "published_hub_bert", vectors]
    native.append(reference / "tf1_hub_elmo" / "module")
    assert [runs_natively(handle, None) for handle in (*native, sentences)] == [True] * 5 + [False]
    assert not runs_natively("bert_small", "saved_model")
    assert runs_natively(sentences, "native")  # refused when it is loaded


def test_a_published_module_runs_both_ways(reference, nothing_trusted):
    folder = reference / "published_hub_bert"
    with pytest.raises(ArtifactError, match="trust"):
        load_module(folder)
    native = load_module(folder, trust=True)
    black_box = load_module(folder, trust=True, execution="saved_model")
    with_embeddings, blocks = encode(native), encode(black_box)
    # The published one does not give out its embeddings' output.
    assert len(with_embeddings) == len(blocks) + 1
    for one, other in zip(with_embeddings[1:], blocks, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert native.max_length == black_box.max_length
    assert load_module(folder / "encoder", trust=True).hash != native.hash


def test_a_folder_and_its_encoder_are_the_same_module(copied):
    assert load_module(copied).hash == load_module(copied / "encoder").hash


def test_another_execution_is_refused():
    with pytest.raises(ConfigError, match="'native' or 'saved_model'"):
        load_module("bert_small", execution="fast")


FILES = ["saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"]


def test_a1_a_half_deleted_module_is_named_with_its_missing_file(copied):
    for name in FILES:
        (copied / "encoder" / name).rename(copied / "away")
        with pytest.raises(ArtifactError, match=os.path.basename(name).split("-")[0]):
            load_module(copied)
        (copied / "away").rename(copied / "encoder" / name)


def test_a2_damage_is_found_by_hash_before_anything_is_loaded(copied, monkeypatch):
    monkeypatch.setattr(hub_modules.loading.native, "read_variables", None)
    monkeypatch.setattr(tf.saved_model, "load", None)
    for name in (*FILES, "fingerprint.pb"):
        path = copied / "encoder" / name
        content = path.read_bytes()
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        for damaged in (flipped, content[:middle]):
            path.write_bytes(damaged)
            for execution in ("native", "saved_model"):
                with pytest.raises(ArtifactError, match=path.name):
                    load_module(copied, execution=execution)
        path.write_bytes(content)


def test_damage_without_a_manifest_is_one_artifact_error(copied, untried):
    (copied / "manifest.json").unlink()
    (copied / "manifest.sha256").unlink()
    for name in FILES:
        path = copied / "encoder" / name
        content = path.read_bytes()
        path.write_bytes(content[:40])
        with pytest.raises(ArtifactError, match="convert it again|copy"):
            load_module(copied, trust=True)
        path.write_bytes(content)


def test_a1_the_hub_cache_is_used_and_a_half_deleted_entry_is_named(tmp_path, monkeypatch, untried):
    url = "https://tfhub.dev/somebody/elmo/1"
    entry = tmp_path / hashlib.sha1(url.encode()).hexdigest()
    shutil.copytree(PRETRAINED / "elmo_small" / "encoder", entry)
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path))
    assert find_module(url) == entry
    module = load_module(url, trust=True)
    assert (module.family, module.execution) == ("elmo", "saved_model")
    (entry / "saved_model.pb").unlink()
    with pytest.raises(ArtifactError, match="saved_model.pb is missing; remove the folder"):
        find_module(url)


def test_hub_is_not_imported_for_a_folder(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_hub", None)  # importing it fails
    load_module("elmo_small", pretrained=False)


class Stranger(tf.Module):
    """A module of neither interface."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def __call__(self, texts):
        return tf.strings.length(texts)


def test_a_module_of_another_kind_is_refused_with_the_interfaces(tmp_path, untried):
    tf.saved_model.save(Stranger(), str(tmp_path / "other"))
    with pytest.raises(ArtifactError, match="input_word_ids.*tokens, sequence_len"):
        load_module(tmp_path / "other", trust=True)


@pytest.mark.slow
def test_a_preprocessing_module_is_a_program_too(reference, nothing_trusted, monkeypatch):
    tried = []

    def in_this_process(folder, kind):
        tried.append((kind, trial.main(kind, str(folder), "none")))

    monkeypatch.setattr("hub_modules.programs.saved_model.try_out", in_this_process)
    preprocess = reference / "published_hub_bert" / "preprocess"
    encoder = reference / "published_hub_bert" / "encoder"
    with pytest.raises(ArtifactError, match="preprocessing module.*trust"):
        load_module("bert_small", preprocessor=preprocess)
    module = load_module(encoder, trust=True, preprocessor=preprocess)
    assert type(module.preprocessor).__name__ == "SavedModelPreprocessor"
    assert tried == [("preprocess", 0)]
    with pytest.raises(ConfigError, match="brings its own preprocessing"):
        load_module("bert_small", trust=True, preprocessor=preprocess)


def test_an_export_is_no_module(copied):
    write_manifest(copied, {"kind": "export"})
    with pytest.raises(ArtifactError, match="kind 'export'.*tf-adapt predict"):
        load_module(copied)
