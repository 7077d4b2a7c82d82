import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from huggingface_folders import edit_json, edit_weights
from safetensors.numpy import load_file

from hub_modules.sources import gpt2, huggingface
from tf_adapt.errors import ArtifactError

RECORDED = Path(__file__).parents[2] / "parity" / "recorded" / "huggingface_gpt2" / "model"


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(RECORDED, tmp_path / "gpt2")
    return tmp_path / "gpt2"


def test_written_and_read_back(tmp_path, assert_same_source):
    source = huggingface.read(RECORDED)
    assert source.family == "causal"
    gpt2.write(source, tmp_path / "copy")
    again = huggingface.read(tmp_path / "copy")
    assert_same_source(again, source)
    assert again.merges == source.merges
    # As in the recorded file: a prefix before each name, and half precision.
    written = load_file(tmp_path / "copy" / "model.safetensors")
    real = load_file(RECORDED / "model.safetensors")
    assert {f"transformer.{name}" for name in written} == real.keys()
    for name, array in written.items():
        np.testing.assert_array_equal(array, real[f"transformer.{name}"].astype(np.float32))


def test_masks_and_heads_are_left_out(folder, assert_same_source):
    expected = huggingface.read(RECORDED)

    def edit(arrays):
        added = {
            "transformer.h.0.attn.bias": np.ones((1, 1, 48, 48), np.uint8),
            "transformer.h.2.attn.masked_bias": np.array(-1e4, np.float32),
            "lm_head.weight": arrays["transformer.wte.weight"],
            "score.weight": np.zeros((3, 16), np.float32),
        }
        return arrays | added

    edit_weights(folder, edit)
    source = huggingface.read(folder)
    assert_same_source(source, expected)
    assert source.left_out == (
        "lm_head.weight",
        "score.weight",
        "transformer.h.0.attn.bias",
        "transformer.h.2.attn.masked_bias",
    )


def test_an_output_that_is_not_tied_is_refused(folder):
    edit_weights(
        folder, lambda arrays: arrays | {"lm_head.weight": arrays["transformer.wte.weight"] + 1}
    )
    with pytest.raises(ArtifactError, match="lm_head.weight: expected the word embeddings"):
        huggingface.read(folder)


def test_settings_that_do_not_fit(folder):
    for changes, message in [
        ({"n_head": 3}, "multiple of the number of heads, got width 16 and 3 heads"),
        ({"n_embd": ...}, "n_embd: expected a positive integer, got nothing"),
        ({"n_layer": 4}, r"16 are missing: h.3.attn.c_attn.bias\[key\]"),
        ({"n_inner": None}, r"h.0.mlp.c_fc.weight: expected shape \(16, 64\), got \(16, 24\)"),
        ({"activation_function": "relu"}, "activation_function: expected one of .*, got 'relu'"),
        ({"scale_attn_by_inverse_layer_idx": True}, "expected False, got True; only GPT-2 as it"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings: expected True, got False"),
        ({"resid_pdrop": 1}, "resid_pdrop: expected a number from 0 to below 1"),
        ({"vocab_size": 300}, "expected at most 300 pieces .*, got 401"),
    ]:
        shutil.rmtree(folder)
        shutil.copytree(RECORDED, folder)
        edit_json(folder / "config.json", **changes)
        with pytest.raises(ArtifactError, match=message):
            huggingface.read(folder)


def test_a_merged_kernel_of_another_width(folder):
    name = "transformer.h.0.attn.c_attn.weight"
    edit_weights(folder, lambda arrays: arrays | {name: arrays[name][:, :-3].copy()})
    message = r"c_attn.weight\[query\]: expected shape \(16, 16\), got \(16, 15\)"
    with pytest.raises(ArtifactError, match=message):
        huggingface.read(folder)


def test_a_casing_is_refused(folder):
    with pytest.raises(ArtifactError, match="leave --lower-case or --cased out"):
        huggingface.read(folder, lower_case=True)


def tokenizer_json(folder, **changes) -> None:
    """Replaces the two files of the tokenizer by the one of HuggingFace's fast tokenizers."""
    vocabulary = json.loads((folder / "vocab.json").read_text("utf-8"))
    merges = (folder / "merges.txt").read_text("utf-8").splitlines()[1:]
    end = vocabulary.pop("<|endoftext|>")
    described = {
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": [m.split(" ") for m in merges]},
        "added_tokens": [{"id": end, "content": "<|endoftext|>"}],
    }
    (folder / "tokenizer.json").write_text(json.dumps(described | changes), "utf-8")
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink()


def test_the_tokenizer_in_one_file(folder):
    tokenizer_json(folder)
    found, expected = huggingface.read(folder), huggingface.read(RECORDED)
    assert (found.vocabulary, found.merges) == (expected.vocabulary, expected.merges)


def test_other_tokenizers_are_refused(folder):
    for changes, message in [
        ({"normalizer": {"type": "NFC"}}, "expected GPT-2's byte-level BPE"),
        ({"pre_tokenizer": {"type": "ByteLevel"}}, "expected GPT-2's byte-level BPE"),
        ({"model": {"type": "Unigram", "vocab": {}}}, "got .'Unigram'"),
        ({"added_tokens": []}, r"got none for \['<\|endoftext\|>'\] \(1 in all\)"),
        ({"added_tokens": [{"id": 700, "content": "x"}]}, "expected the ids 0 to"),
        ({"added_tokens": ["x"]}, "got none for"),
        ({"added_tokens": 7}, "got none for"),
    ]:
        shutil.rmtree(folder)
        shutil.copytree(RECORDED, folder)
        tokenizer_json(folder, **changes)
        with pytest.raises(ArtifactError, match=message):
            huggingface.read(folder)


def test_wrong_merges(folder):
    for edit, message in [
        (lambda lines: lines[:1], "expected merges, each of them once, got 0"),
        (lambda lines: [*lines, lines[1]], "of which"),
        (lambda lines: [*lines, "a b c"], "merge 145: expected two pieces that make a third"),
        (lambda lines: [*lines, "ö q"], "merge 145: expected two pieces that make a third"),
    ]:
        shutil.rmtree(folder)
        shutil.copytree(RECORDED, folder)
        path = folder / "merges.txt"
        lines = edit(path.read_text("utf-8").splitlines())
        path.write_text("\n".join(lines), "utf-8")
        with pytest.raises(ArtifactError, match=message):
            huggingface.read(folder)


def test_missing_files(folder):
    (folder / "vocab.json").unlink()
    with pytest.raises(ArtifactError, match=r"vocab.json: expected a text file, got no such file"):
        huggingface.read(folder)
    shutil.copy(RECORDED / "vocab.json", folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ArtifactError, match="is a pickle, which can run code"):
        huggingface.read(folder)
