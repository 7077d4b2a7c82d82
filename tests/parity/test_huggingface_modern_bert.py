"""ModernBERT against HuggingFace's: hidden states, tokenizer.

The recording is a model of random weights; `recorded/huggingface_modern_bert/record.py` made it.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.native.relative.modern_bert import ModernBertEncoder
from hub_modules.preprocess import ModernBertPreprocessor
from hub_modules.sources import huggingface

RECORDED = Path(__file__).parent / "recorded" / "huggingface_modern_bert"


@pytest.fixture(scope="module")
def source():
    return huggingface.read(RECORDED / "model")


@pytest.fixture(scope="module")
def recording() -> dict:
    with np.load(RECORDED / "expected.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def native(source) -> ModernBertEncoder:
    encoder = ModernBertEncoder(**source.config)
    encoder.build()
    encoder.load_weights_by_name(source.weights)
    return encoder


def inputs_of(recording: dict) -> dict:
    return {name: recording[name] for name in ("input_word_ids", "input_mask")}


def test_every_hidden_state(source, recording, compare):
    encoder, inputs = native(source), inputs_of(recording)
    encoded = encoder(inputs)
    real = inputs["input_mask"] == 1
    # HuggingFace's last recorded state is before the final LayerNorm; `top` is behind it.
    expected = [*recording["hidden_states"][: source.config["num_layers"]], recording["top"]]
    assert len(encoded["layers"]) == len(expected) == encoder.num_states
    for number, (layer, states) in enumerate(zip(encoded["layers"], expected, strict=True)):
        what = f"HuggingFace ModernBERT, hidden state {number}"
        compare(what, np.asarray(layer)[real], states[real], 1e-5)
    compare("HuggingFace ModernBERT, [CLS]", encoded["pooled"], recording["top"][:, 0], 1e-5)


@pytest.fixture(scope="module")
def preprocessor(source) -> ModernBertPreprocessor:
    return ModernBertPreprocessor(source.vocabulary, source.merges, source.added)


def rows(recording: dict, what: str) -> tuple[list[bytes], list[list[int]]]:
    texts = [text.removesuffix(b".") for text in recording[f"{what}s"].tolist()]
    ends = np.cumsum(recording[f"{what}_lengths"])[:-1]
    return texts, [ids.tolist() for ids in np.split(recording[f"{what}_ids"], ends)]


@pytest.mark.parametrize("graph", [False, True])
def test_ids_of_odd_texts(preprocessor, recording, graph):
    texts, expected = rows(recording, "text")
    tokenize = tf.function(preprocessor.tokenize) if graph else preprocessor.tokenize
    for text, got, ids in zip(texts, tokenize(tf.constant(texts)).to_list(), expected, strict=True):
        assert got == ids, text.decode()


def test_words_and_pairs(preprocessor, recording):
    words, expected = rows(recording, "word")
    ragged = tf.RaggedTensor.from_row_lengths(words, [2, 0, len(words) - 2])
    assert preprocessor.tokenize_words(ragged).to_list() == [expected[:2], [], expected[2:]]
    packed = preprocessor((["the cat"], ["sat on the mat"]))
    assert packed["input_word_ids"].numpy()[0].tolist() == recording["pair"].tolist()


def recorded_again(folder: Path, *size: str) -> dict:
    python = os.environ.get("TF_ADAPT_ORACLES_PYTHON")
    if not python:
        pytest.skip("TF_ADAPT_ORACLES_PYTHON does not name an interpreter with transformers")
    command = [python, str(RECORDED / "record.py"), folder, *size]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(folder / "expected.npz", allow_pickle=False) as arrays:
        return dict(arrays)


@pytest.mark.oracle
def test_what_is_recorded_is_what_huggingface_computes(source, recording, tmp_path):
    again = recorded_again(tmp_path)
    model = huggingface.read(tmp_path / "model")
    assert (model.config, model.vocabulary) == (source.config, source.vocabulary)
    assert (model.merges, model.added) == (source.merges, source.added)
    for name, array in source.weights.items():
        np.testing.assert_array_equal(model.weights[name], array, err_msg=name)
    assert set(again) == set(recording)
    for name, array in recording.items():
        np.testing.assert_allclose(again[name], array, atol=1e-5, err_msg=name) if (
            array.dtype.kind == "f"
        ) else np.testing.assert_array_equal(again[name], array, err_msg=name)


@pytest.mark.oracle
@pytest.mark.parametrize("size", ["deep", "long", "base"])
def test_other_sizes(tmp_path, compare, size):
    expected = recorded_again(tmp_path, size)
    encoder, inputs = native(huggingface.read(tmp_path / "model")), inputs_of(expected)
    top = tf.function(encoder)(inputs)["layers"][-1]
    real = inputs["input_mask"] == 1
    compare(f"HuggingFace ModernBERT, {size}", np.asarray(top)[real], expected["top"][real], 1e-4)
