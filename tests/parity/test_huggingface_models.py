"""GPT-2, ModernBERT and MPNet against HuggingFace's: hidden states, tied output, tokenizers, a
greedy continuation.

The recordings are models of random weights; `recorded/huggingface_NAME/record.py` made them.
"""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.by_family.mpnet import ROW
from hub_modules.native.causal import CausalEncoder
from hub_modules.native.relative.modern_bert import ModernBertEncoder
from hub_modules.native.relative.mpnet import MPNetEncoder
from hub_modules.preprocess import CausalPreprocessor, ModernBertPreprocessor
from hub_modules.preprocess.bert import MPNET_TOKENS, BertPreprocessor
from hub_modules.sources import huggingface

ENCODERS = {"gpt2": CausalEncoder, "modern_bert": ModernBertEncoder, "mpnet": MPNetEncoder}
BYTE_PAIRS = {
    "gpt2": lambda source: CausalPreprocessor(source.vocabulary, source.merges),
    "modern_bert": lambda source: ModernBertPreprocessor(
        source.vocabulary, source.merges, source.added
    ),
}


def folder_of(name: str) -> Path:
    return Path(__file__).parent / "recorded" / f"huggingface_{name}"


def arrays_of(folder: Path) -> dict:
    with np.load(folder / "expected.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def native(name: str, source, **options):
    encoder = ENCODERS[name](**source.config, **options)
    encoder.build()
    encoder.load_weights_by_name(source.weights)
    return encoder


def inputs_of(recording: dict) -> dict:
    return {name: recording[name] for name in ("input_word_ids", "input_mask")}


@pytest.fixture(scope="module")
def recorded():
    """Name → what HuggingFace computed, the source read of its folder, the encoder."""
    made = {}

    def model(name: str) -> SimpleNamespace:
        if name not in made:
            source = huggingface.read(folder_of(name) / "model")
            made[name] = SimpleNamespace(
                source=source, arrays=arrays_of(folder_of(name)), encoder=native(name, source)
            )
        return made[name]

    return model


def pooled_of(name: str, arrays: dict, states: np.ndarray):
    if name == "mpnet":
        return arrays["pooled"]
    if name == "modern_bert":
        return arrays["top"][:, 0]
    last = arrays["input_mask"].sum(axis=1) - 1
    return states[-1][np.arange(len(last)), last]


@pytest.mark.parametrize("name", ENCODERS)
def test_every_hidden_state(recorded, compare, name):
    arrays, encoder = recorded(name).arrays, recorded(name).encoder
    encoded, expected = encoder(inputs_of(arrays)), arrays["hidden_states"]
    if name == "modern_bert":
        # HuggingFace's last recorded state is before the final LayerNorm; `top` is behind it.
        expected = [*expected[: recorded(name).source.config["num_layers"]], arrays["top"]]
    step = 3 if name == "mpnet" else 1  # of the positions that are recorded
    real = arrays["input_mask"][:, ::step] == 1
    assert len(encoded["layers"]) == len(expected) == encoder.num_states
    for number, (layer, states) in enumerate(zip(encoded["layers"], expected, strict=True)):
        what = f"HuggingFace {name}, hidden state {number}"
        compare(what, np.asarray(layer)[:, ::step][real], states[real], 1e-5)
    pooled = pooled_of(name, arrays, expected)
    compare(f"HuggingFace {name}, pooled", encoded["pooled"], pooled, 1e-5)


def test_shapes_of_mpnet(recorded):
    assert ROW.shapes(recorded("mpnet").source.config) == {
        name: tuple(weight.shape)
        for name, weight in recorded("mpnet").encoder.weights_by_name().items()
    }


def logits_of(encoder, inputs: dict):
    return encoder.logits(encoder(inputs)["layers"][-1][:2, :13:6])


def test_tied_output_and_segments_of_gpt2(recorded, compare):
    """HuggingFace looks segments up among the words: there rows 3 and 10, here new rows."""
    gpt2 = recorded("gpt2")
    arrays, inputs = gpt2.arrays, inputs_of(gpt2.arrays)
    compare("tied output", logits_of(gpt2.encoder, inputs), arrays["logits"], 2e-5)
    encoder = native("gpt2", gpt2.source, segments=2)
    words = gpt2.source.weights["embeddings/word_embeddings"]
    encoder.embeddings.new.segment_rows.assign(words[[3, 10]])
    inputs["input_type_ids"] = arrays["token_type_ids"] // 10
    compare("token types", logits_of(encoder, inputs), arrays["typed_logits"], 2e-5)


def test_greedy_continuation_with_the_cache(recorded):
    encoder, arrays = recorded("gpt2").encoder, recorded("gpt2").arrays
    expected, length = arrays["greedy"], arrays["input_word_ids"].shape[1]
    step = tf.function(encoder.step, reduce_retracing=True)
    ids, cache, found = tf.constant(expected[:, :length]), None, []
    for _ in range(expected.shape[1] - length):
        logits, cache = step({"input_word_ids": ids, "input_mask": tf.ones_like(ids)}, cache)
        ids = tf.argmax(logits, axis=-1, output_type=tf.int32)[:, None]
        found.append(int(ids[0, 0]))
    assert found == expected[0, length:].tolist()


def rows(arrays: dict, what: str) -> tuple[list[bytes], list[list[int]]]:
    texts = [text.removesuffix(b".") for text in arrays[f"{what}s"].tolist()]
    ends = np.cumsum(arrays[f"{what}_lengths"])[:-1]
    return texts, [ids.tolist() for ids in np.split(arrays[f"{what}_ids"], ends)]


@pytest.mark.parametrize(
    ("name", "graph"), [("gpt2", False), ("modern_bert", False), ("modern_bert", True)]
)
def test_ids_of_odd_texts(recorded, name, graph):
    preprocessor = BYTE_PAIRS[name](recorded(name).source)
    texts, expected = rows(recorded(name).arrays, "text")
    tokenize = tf.function(preprocessor.tokenize) if graph else preprocessor.tokenize
    for text, got, ids in zip(texts, tokenize(tf.constant(texts)).to_list(), expected, strict=True):
        assert got == ids, text.decode()


@pytest.mark.parametrize("name", BYTE_PAIRS)
def test_words_are_tokenized_as_after_a_blank(recorded, name):
    preprocessor = BYTE_PAIRS[name](recorded(name).source)
    words, expected = rows(recorded(name).arrays, "word")
    ragged = tf.RaggedTensor.from_row_lengths(words, [2, 0, len(words) - 2])
    assert preprocessor.tokenize_words(ragged).to_list() == [expected[:2], [], expected[2:]]


def test_pairs_of_modern_bert(recorded):
    packed = BYTE_PAIRS["modern_bert"](recorded("modern_bert").source)(
        (["the cat"], ["sat on the mat"])
    )
    expected = recorded("modern_bert").arrays["pair"]
    np.testing.assert_array_equal(packed["input_word_ids"][0], expected)


def test_ids_of_texts_and_a_pair_of_mpnet(recorded):
    source, arrays = recorded("mpnet").source, recorded("mpnet").arrays
    assert source.lower_case
    preprocessor = BertPreprocessor(
        source.vocabulary, source.lower_case, special=MPNET_TOKENS, doubled=True
    )
    texts, expected = rows(arrays, "text")
    packed = preprocessor([text.decode() for text in texts])
    columns = (packed[name].numpy() for name in ("input_word_ids", "input_mask"))
    for row, mask, ids in zip(*columns, expected, strict=True):
        assert row[mask == 1].tolist() == ids
        assert set(row[mask == 0]) <= {source.vocabulary.index("<pad>")}
    pair = preprocessor((["the cat"], ["a dog"]))["input_word_ids"].numpy()[0]
    assert pair.tolist() == arrays["pair"].tolist()
    assert preprocessor.special_tokens(2) == 4


def recorded_again(name: str, folder: Path, *size: str) -> dict:
    python = os.environ.get("TF_ADAPT_ORACLES_PYTHON")
    if not python:
        pytest.skip("TF_ADAPT_ORACLES_PYTHON does not name an interpreter with transformers")
    command = [python, str(folder_of(name) / "record.py"), folder, *size]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return arrays_of(folder)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ENCODERS)
def test_what_is_recorded_is_what_huggingface_computes(recorded, tmp_path, name):
    source, arrays = recorded(name).source, recorded(name).arrays
    again = recorded_again(name, tmp_path)
    model = huggingface.read(tmp_path / "model")
    for key in ("config", "vocabulary", "merges", "added", "lower_case"):
        assert getattr(model, key) == getattr(source, key)
    for key, array in source.weights.items():
        np.testing.assert_array_equal(model.weights[key], array, err_msg=key)
    assert set(again) == set(arrays)
    for key, array in arrays.items():
        tolerance = 1e-5 if array.dtype.kind == "f" else 0
        if array.dtype.kind == "S":
            np.testing.assert_array_equal(again[key], array, err_msg=key)
        else:
            np.testing.assert_allclose(again[key], array, atol=tolerance, err_msg=key)


@pytest.mark.oracle
@pytest.mark.parametrize(("size", "tolerance"), [("deep", 1e-5), ("long", 1e-5), ("base", 1e-4)])
def test_other_sizes_of_modern_bert(tmp_path, compare, size, tolerance):
    expected = recorded_again("modern_bert", tmp_path, size)
    encoder = native("modern_bert", huggingface.read(tmp_path / "model"))
    inputs = inputs_of(expected)
    top = tf.function(encoder)(inputs)["layers"][-1]
    real = inputs["input_mask"] == 1
    what = f"HuggingFace ModernBERT, {size}"
    compare(what, np.asarray(top)[real], expected["top"][real], tolerance)
