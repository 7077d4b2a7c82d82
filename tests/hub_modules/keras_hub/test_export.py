"""Encoders of keras-hub's layers in HuggingFace's format: read back, and by transformers."""

from pathlib import Path

import numpy as np
import pytest
from huggingface_folders import FAMILIES, write_folder
from transformers_process import transformers_states

import tf_adapt as ta
from hub_modules.load import load_module
from tf_adapt.errors import ConfigError
from tf_adapt.training.finished.module_export import export_huggingface

TEXTS = ["two dogs run over the old bridge , and a cafe closes", "they will be late", "the"]
PRESETS = ("bert", "roberta", "distilbert", "electra")


def states(encoder, packed) -> list[np.ndarray]:
    real = np.asarray(packed["input_mask"]) == 1
    return [np.asarray(layer)[real] for layer in encoder(packed)["layers"]]


def assert_same(written: Path, origin: str) -> None:
    """The folder's states and ids are those of the module."""
    before, after = load_module(origin), load_module(f"keras:{written}")
    packed = before.preprocessor(TEXTS)
    for name, value in after.preprocessor(TEXTS).items():
        np.testing.assert_array_equal(value, packed[name])
    pairs = zip(states(before.encoder, packed), states(after.encoder, packed), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert after.max_length == before.max_length


@pytest.mark.parametrize("family", ["roberta", "distilbert", "electra", "deberta_v3"])
def test_a_folder_is_written_again(family, tmp_path):
    origin = f"keras:{write_folder(family, tmp_path / 'origin')}"
    assert_same(export_huggingface(origin, tmp_path / "written"), origin)


@pytest.mark.parametrize("family", PRESETS)
def test_a_preset_becomes_a_folder(family, preset, tmp_path):
    origin = f"keras:{preset(family)[0]}"
    assert_same(export_huggingface(origin, tmp_path / "written"), origin)


@pytest.mark.parametrize("family", PRESETS)
def test_the_tokenizer_of_a_preset_reads_as_ours(family, preset, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    origin = f"keras:{preset(family)[0]}"
    written = export_huggingface(origin, tmp_path / "written")
    found = tokenizers.Tokenizer.from_file(str(written / "tokenizer.json"))
    ours = load_module(origin).preprocessor
    texts = [*TEXTS, "THE café's, naïve 你好  dogs.", "x"]
    packed = ours(texts)
    rows = zip(packed["input_word_ids"].numpy(), packed["input_mask"].numpy(), strict=True)
    for text, (ids, mask) in zip(texts, rows, strict=True):
        assert found.encode(text).ids == ids[mask == 1].tolist(), text
    (pair,) = ours((texts[:1], texts[1:2]))["input_word_ids"].numpy()
    assert found.encode(texts[0], texts[1]).ids == pair.tolist()


def test_kept_layers_and_what_is_not_written(preset, tmp_path):
    folder = write_folder("roberta", tmp_path / "origin")
    encoder = ta.HubEncoder(f"keras:{folder}", keep_layers=[1])
    from tf_adapt.training.finished.module_export import _write_huggingface

    _write_huggingface(encoder, tmp_path / "written", {})
    again = load_module(f"keras:{tmp_path / 'written'}").encoder
    packed = encoder.preprocessor(TEXTS)
    for one, other in zip(states(encoder, packed), states(again, packed), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    with pytest.raises(ConfigError, match="of presets of BertBackbone, .* got AlbertBackbone"):
        export_huggingface(f"keras:{preset('albert')[0]}", tmp_path / "albert")


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("kind", "family"), [*(("folder", f) for f in FAMILIES), *(("preset", f) for f in PRESETS)]
)
def test_transformers_computes_the_same(kind, family, preset, tmp_path):
    folder = write_folder(family, tmp_path / "origin") if kind == "folder" else preset(family)[0]
    encoder = ta.HubEncoder(f"keras:{folder}")
    written = export_huggingface(f"keras:{folder}", tmp_path / "written")
    ids, mask, (*_, top), _ = transformers_states(written, TEXTS, tmp_path)
    packed = {key: value.numpy() for key, value in encoder.preprocessor(TEXTS).items()}
    np.testing.assert_array_equal(ids, packed["input_word_ids"])
    found = states(encoder, packed)[-1]
    print(f"transformers {kind} {family}: {np.abs(found - top[mask == 1]).max():.1e}")
    np.testing.assert_allclose(found, top[mask == 1], atol=1e-5)
