"""GPT-2 against HuggingFace's: hidden states, tied output, tokenizer, a greedy continuation.

The recording is a model of random weights (none of them zero or one); `recorded/huggingface_gpt2/
record.py` made it.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.native.causal import CausalEncoder
from hub_modules.preprocess import CausalPreprocessor
from hub_modules.sources import huggingface

RECORDED = Path(__file__).parent / "recorded" / "huggingface_gpt2"


@pytest.fixture(scope="module")
def source():
    return huggingface.read(RECORDED / "model")


@pytest.fixture(scope="module")
def recording() -> dict:
    with np.load(RECORDED / "expected.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def native(source, **options) -> CausalEncoder:
    encoder = CausalEncoder(**source.config, **options)
    encoder.build()
    encoder.load_weights_by_name(source.weights)
    return encoder


def inputs_of(recording: dict) -> dict:
    return {name: recording[name] for name in ("input_word_ids", "input_mask")}


def test_every_hidden_state_and_the_tied_output(source, recording, compare):
    encoder, inputs = native(source), inputs_of(recording)
    encoded = encoder(inputs)
    real = inputs["input_mask"] == 1
    expected = recording["hidden_states"]
    assert len(encoded["layers"]) == len(expected) == encoder.num_states
    for number, (layer, states) in enumerate(zip(encoded["layers"], expected, strict=True)):
        what = f"HuggingFace GPT-2, hidden state {number}"
        compare(what, np.asarray(layer)[real], states[real], 1e-5)
    last = real.sum(axis=1) - 1
    top = expected[-1][np.arange(len(last)), last]
    compare("HuggingFace GPT-2, last token", encoded["pooled"], top, 1e-5)
    logits = encoder.logits(encoded["layers"][-1][:2, :13:6])
    compare("HuggingFace GPT-2, tied output", logits, recording["logits"], 2e-5)


def test_segments(source, recording, compare):
    """HuggingFace looks segments up among the words: there rows 3 and 10, here new rows."""
    encoder = native(source, segments=2)
    words = source.weights["embeddings/word_embeddings"]
    encoder.embeddings.new.segment_rows.assign(words[[3, 10]])
    inputs = inputs_of(recording) | {"input_type_ids": recording["token_type_ids"] // 10}
    logits = encoder.logits(encoder(inputs)["layers"][-1][:2, :13:6])
    compare("HuggingFace GPT-2, token types", logits, recording["typed_logits"], 2e-5)


def test_greedy_continuation_with_the_cache(source, recording):
    encoder, expected = native(source), recording["greedy"]
    length = recording["input_word_ids"].shape[1]
    step = tf.function(encoder.step, reduce_retracing=True)
    ids, cache, found = tf.constant(expected[:, :length]), None, []
    for _ in range(expected.shape[1] - length):
        logits, cache = step({"input_word_ids": ids, "input_mask": tf.ones_like(ids)}, cache)
        ids = tf.argmax(logits, axis=-1, output_type=tf.int32)[:, None]
        found.append(int(ids[0, 0]))
    assert found == expected[0, length:].tolist()


@pytest.fixture(scope="module")
def preprocessor(source) -> CausalPreprocessor:
    return CausalPreprocessor(source.vocabulary, source.merges)


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


def test_words_are_tokenized_as_after_a_blank(preprocessor, recording):
    words, expected = rows(recording, "word")
    ragged = tf.RaggedTensor.from_row_lengths(words, [2, 0, len(words) - 2])
    pieces = preprocessor.tokenize_words(ragged)
    assert pieces.to_list() == [expected[:2], [], expected[2:]]


@pytest.mark.oracle
def test_what_is_recorded_is_what_huggingface_computes(source, recording, tmp_path):
    python = os.environ.get("TF_ADAPT_ORACLES_PYTHON")
    if not python:
        pytest.skip("TF_ADAPT_ORACLES_PYTHON does not name an interpreter with transformers")
    command = [python, str(RECORDED / "record.py"), tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    again = huggingface.read(tmp_path / "model")
    assert (again.config, again.vocabulary) == (source.config, source.vocabulary)
    assert again.merges == source.merges
    for name, array in source.weights.items():
        np.testing.assert_array_equal(again.weights[name], array, err_msg=name)
    with np.load(tmp_path / "expected.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) == set(recording)
        for name in arrays.files:
            if arrays[name].dtype.kind == "f":
                np.testing.assert_allclose(arrays[name], recording[name], atol=1e-5, err_msg=name)
            else:
                np.testing.assert_array_equal(arrays[name], recording[name], err_msg=name)
