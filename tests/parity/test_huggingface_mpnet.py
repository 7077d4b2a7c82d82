"""MPNet against HuggingFace's: hidden states, pooled vectors, tokenizer.

The recording is a model of random weights; `recorded/huggingface_mpnet/record.py` made it.
"""

from pathlib import Path

import numpy as np
import pytest

from hub_modules.by_family.mpnet import ROW
from hub_modules.native.relative.mpnet import MPNetEncoder
from hub_modules.preprocess.bert import MPNET_TOKENS, BertPreprocessor
from hub_modules.sources import huggingface

RECORDED = Path(__file__).parent / "recorded" / "huggingface_mpnet"


@pytest.fixture(scope="module")
def source():
    return huggingface.read(RECORDED / "model")


@pytest.fixture(scope="module")
def recording() -> dict:
    with np.load(RECORDED / "expected.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def test_every_hidden_state(source, recording, compare):
    encoder = MPNetEncoder(**source.config)
    encoder.build()
    assert ROW.shapes(source.config) == {
        name: tuple(weight.shape) for name, weight in encoder.weights_by_name().items()
    }
    encoder.load_weights_by_name(source.weights)
    encoded = encoder({name: recording[name] for name in ("input_word_ids", "input_mask")})
    real = recording["input_mask"][:, ::3] == 1
    expected = recording["hidden_states"]
    assert len(encoded["layers"]) == len(expected) == encoder.num_states
    for number, (layer, states) in enumerate(zip(encoded["layers"], expected, strict=True)):
        what = f"HuggingFace MPNet, hidden state {number}"
        compare(what, np.asarray(layer)[:, ::3][real], states[real], 1e-5)
    compare("HuggingFace MPNet, pooled", encoded["pooled"], recording["pooled"], 1e-5)


def test_ids_of_texts_and_a_pair(source, recording):
    assert source.lower_case
    preprocessor = BertPreprocessor(
        source.vocabulary, source.lower_case, special=MPNET_TOKENS, doubled=True
    )
    texts = [text.removesuffix(b".").decode() for text in recording["texts"].tolist()]
    ends = np.cumsum(recording["text_lengths"])[:-1]
    packed = preprocessor(texts)
    for row, mask, ids in zip(
        packed["input_word_ids"].numpy(),
        packed["input_mask"].numpy(),
        np.split(recording["text_ids"], ends),
        strict=True,
    ):
        assert row[mask == 1].tolist() == ids.tolist()
        assert set(row[mask == 0]) <= {source.vocabulary.index("<pad>")}
    pair = preprocessor((["the cat"], ["a dog"]))["input_word_ids"].numpy()[0]
    assert pair.tolist() == recording["pair"].tolist()
    assert preprocessor.special_tokens(2) == 4
