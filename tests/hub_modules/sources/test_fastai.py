"""fast.ai's weights as a module: what is read, and what is said of what cannot be."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from hub_modules.errors import ArtifactError
from hub_modules.sources import fastai

RECORDED = Path(__file__).parents[2] / "parity" / "recorded" / "fastai" / "model"


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(RECORDED, tmp_path / "fastai"))


def edit(folder, change) -> None:
    arrays = load_file(folder / "model.safetensors")
    save_file(change(arrays), folder / "model.safetensors")


def test_padding_and_the_unknown_word_change_places(folder):
    source, stored = fastai.read(folder), load_file(folder / "model.safetensors")
    assert source.vocabulary[:3] == ["xxpad", "xxunk", "xxbos"] and source.lower_case
    table = stored["0.encoder.weight"]
    order = [1, 0, *range(2, len(table))]
    np.testing.assert_array_equal(source.weights["embeddings/word_embeddings"], table[order])
    np.testing.assert_array_equal(source.output_layer["bias"], stored["1.decoder.bias"][order])
    assert source.config == {
        "vocabulary_size": len(table),
        "width": 8,
        "lstm_width": 12,
        "num_layers": 3,
    }
    assert "0.encoder_dp.emb.weight" in source.left_out


def test_an_encoder_alone_has_no_output_layer(folder):
    whole = fastai.read(folder)
    edit(
        folder,
        lambda arrays: {
            name.removeprefix("0."): array
            for name, array in arrays.items()
            if not name.startswith("1.")
        },
    )
    source = fastai.read(folder)
    assert source.output_layer is None and source.config == whole.config
    for name, array in whole.weights.items():
        np.testing.assert_array_equal(source.weights[name], array)


def test_words_that_fill_a_vocabulary_up_may_be_many(folder):
    path = folder / "vocab.txt"
    words = [*path.read_text("utf-8").splitlines()[:-2], "xxfake", "xxfake"]
    path.write_text("".join(f"{word}\n" for word in words), "utf-8")
    assert [word[:6] for word in fastai.read(folder).vocabulary[-2:]] == ["xxfake"] * 2


def without(name):
    return lambda arrays: {key: array for key, array in arrays.items() if key != name}


def changed(name, change):
    return lambda arrays: arrays | {name: np.ascontiguousarray(change(arrays[name]))}


def test_c1_other_weights(folder):
    for change, message in [
        (without("0.rnns.1.module.bias_hh_l0"), "missing: rnns.1.module.bias_hh_l0"),
        (without("0.rnns.1.weight_hh_l0_raw"), "with or without 0. before"),
        (without("0.encoder.weight"), "expected encoder.weight and rnns.0.weight_hh_l0_raw"),
        (lambda arrays: arrays | {"0.extra": np.ones(2, "float32")}, "got unknown: extra"),
        (changed("1.decoder.weight", lambda array: array + 1), "to which the output is tied"),
        (changed("1.decoder.bias", lambda array: array[1:]), r"1.decoder.bias: expected shape"),
        (changed("0.rnns.2.module.bias_hh_l0", lambda a: a[1:]), "two biases of one shape"),
        (
            changed("0.rnns.2.module.weight_ih_l0", lambda array: array[:, 1:]),
            r"lstm_2/kernel: expected shape \(12, 32\) beside the other weights, got \(11, 32\)",
        ),
        (
            changed("0.rnns.1.weight_hh_l0_raw", lambda a: np.where(a == a.max(), np.nan, a)),
            "0.rnns.1.weight_hh_l0_raw: expected finite numbers, got NaN",
        ),
        (changed("1.decoder.bias", lambda array: array + np.inf), "decoder.bias: expected finite"),
        (changed("0.rnns.0.module.bias_ih_l0", lambda a: a.astype(int)), "expected floating-point"),
        (
            lambda arrays: arrays | {"0.encoder.weight": np.array(1, "float32")},
            r"encoder.weight: expected a matrix, got shape \(\)",
        ),
        (
            changed("0.rnns.0.weight_hh_l0_raw", np.ravel),
            r"weight_hh_l0_raw: expected a matrix, got shape \(576,\)",
        ),
        (
            lambda arrays: arrays | {"encoder.weight": arrays["0.encoder.weight"] + 1},
            "expected encoder.weight or .*, got both",
        ),
    ]:
        shutil.rmtree(folder)
        shutil.copytree(RECORDED, folder)
        edit(folder, change)
        with pytest.raises(ArtifactError, match=message):
            fastai.read(folder)


def test_c1_other_words(folder):
    for edit_words, message in [
        (lambda words: words[:-1], "expected 18 words, as many as the word embeddings have rows"),
        (lambda words: [*words[:-1], words[3]], r"vocab.txt:18: the word 'xxeos' is already on"),
        (lambda words: [*words[:-1], ""], r"vocab.txt:18: expected a word, got an empty line"),
        (lambda words: ["other", *words[1:]], "got none of xxunk"),
    ]:
        shutil.rmtree(folder)
        shutil.copytree(RECORDED, folder)
        path = folder / "vocab.txt"
        words = edit_words(path.read_text("utf-8").splitlines())
        path.write_text("".join(f"{word}\n" for word in words), "utf-8")
        with pytest.raises(ArtifactError, match=message):
            fastai.read(folder)


def test_c1_pickles_are_not_read(folder):
    (folder / "model.safetensors").rename(folder / "fwd.pth")
    with pytest.raises(ArtifactError, match="fwd.pth is a pickle, which can run code"):
        fastai.read(folder)
    (folder / "fwd.pth").unlink()
    with pytest.raises(ArtifactError, match="save the state of the model with safetensors"):
        fastai.read(folder)
    (folder / "model.safetensors").write_bytes(b"no")
    with pytest.raises(ArtifactError, match="expected a safetensors file"):
        fastai.read(folder)
