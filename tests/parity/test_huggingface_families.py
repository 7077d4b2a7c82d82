"""keras-hub's layers against HuggingFace's: every hidden state, and the ids of every tokenizer.

The recordings are made by recorded/huggingface/record.py.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from huggingface_folders import FAMILIES, keras_hub_is_new, recording, write_folder

from hub_modules.keras_hub import huggingface
from hub_modules.keras_hub.encoder import KerasHubEncoder

FOLDER = Path(__file__).parent / "recorded" / "huggingface"

if not keras_hub_is_new():
    pytest.skip("needs keras-hub 0.32", allow_module_level=True)


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory):
    """(name, recording, encoder, preprocessor)."""
    folder = write_folder(request.param, tmp_path_factory.mktemp(request.param))
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    found = huggingface.describe(folder, settings)
    encoder = KerasHubEncoder(**found.arguments)
    found.load(encoder)
    return request.param, recording(request.param), encoder, found.preprocessor()


def texts(recorded: dict, kind: str):
    given = recorded["texts"].tolist()
    return given if kind == "single" else (given, recorded["others"].tolist())


@pytest.mark.parametrize("kind", ["single", "pair"])
def test_every_hidden_state(family, kind, compare):
    name, recorded, encoder, _ = family
    inputs = {
        "input_word_ids": recorded[f"{kind}_ids"],
        "input_mask": recorded[f"{kind}_mask"],
        "input_type_ids": recorded[f"{kind}_types"],
    }
    encoded = encoder(inputs)
    # HuggingFace's DeBERTa leaves padding out as a query too.
    real = inputs["input_mask"] == 1
    states = recorded[f"{kind}_states"]
    assert len(encoded["layers"]) == len(states) == encoder.num_states
    for number, (layer, expected) in enumerate(zip(encoded["layers"], states, strict=True)):
        what = f"HuggingFace {name}, {kind}, hidden state {number}"
        compare(what, np.asarray(layer)[real], expected[real], 1e-5)
    expected = recorded.get(f"{kind}_pooled", states[-1][:, 0])
    compare(f"HuggingFace {name}, {kind}, pooled", encoded["pooled"], expected, 1e-5)


@pytest.mark.parametrize("kind", ["single", "pair"])
def test_the_ids_of_texts_and_pairs(family, kind):
    _, recorded, _, preprocessor = family
    packed = preprocessor(texts(recorded, kind))
    np.testing.assert_array_equal(packed["input_word_ids"], recorded[f"{kind}_ids"])
    np.testing.assert_array_equal(packed["input_mask"], recorded[f"{kind}_mask"])
    if family[0] in ("bert", "albert", "electra"):
        np.testing.assert_array_equal(packed["input_type_ids"], recorded[f"{kind}_types"])


def test_the_ids_of_words_and_their_first_pieces(family):
    _, recorded, _, preprocessor = family
    words = tf.ragged.constant([row.split(" ") for row in recorded["words"].tolist()])
    packed = preprocessor.pack_words(preprocessor.tokenize_words(words))
    np.testing.assert_array_equal(packed["input_word_ids"], recorded["words_ids"])
    np.testing.assert_array_equal(packed["first_piece"], recorded["words_first"])


@pytest.mark.oracle
def test_what_is_recorded_is_what_huggingface_computes(tmp_path):
    python = os.environ.get("TF_ADAPT_ORACLES_PYTHON")
    if not python:
        pytest.skip("TF_ADAPT_ORACLES_PYTHON does not name an interpreter with transformers")
    command = [python, str(FOLDER / "record.py"), "--again", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    for name in FAMILIES:
        recorded = recording(name)
        with np.load(tmp_path / f"{name}.npz", allow_pickle=False) as again:
            assert set(again.files) == set(recorded)
            for key in again.files:
                what = f"{name}, {key}"
                if again[key].dtype.kind == "f":
                    np.testing.assert_allclose(again[key], recorded[key], atol=1e-5, err_msg=what)
                else:
                    np.testing.assert_array_equal(again[key], recorded[key], err_msg=what)
