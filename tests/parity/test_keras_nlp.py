"""BERT against keras-hub's BertBackbone: a recorded preset, and live where keras-hub is installed.

The recording is a backbone of random weights (none of them zero or one, so that no exchange of two
weights goes unseen), saved by keras-hub 0.32 with `save_to_preset`, and its outputs.
"""

from pathlib import Path

import numpy as np
import pytest

from hub_modules.native.bert import BertEncoder
from hub_modules.sources import keras_nlp
from hub_modules.sources.layouts.names import to_foreign

RECORDED = Path(__file__).parent / "recorded" / "keras_hub"
INPUTS = {
    "input_word_ids": "token_ids",
    "input_mask": "padding_mask",
    "input_type_ids": "segment_ids",
}


def encode(source, inputs: dict) -> dict:
    encoder = BertEncoder(**source.config)
    encoder.build()
    encoder.load_weights_by_name(source.weights)
    return encoder({ours: inputs[theirs] for ours, theirs in INPUTS.items()})


def compare_outputs(compare, what: str, encoded: dict, inputs: dict, outputs: dict) -> None:
    real = np.asarray(inputs["padding_mask"]) == 1
    top = np.asarray(encoded["layers"][-1])
    compare(f"{what}, top layer", top[real], np.asarray(outputs["sequence_output"])[real], 1e-5)
    compare(f"{what}, pooled output", encoded["pooled"], outputs["pooled_output"], 1e-5)


def test_recorded_preset(compare):
    source = keras_nlp.read(RECORDED / "preset")
    with np.load(RECORDED / "expected.npz", allow_pickle=False) as recording:
        arrays = dict(recording)
    compare_outputs(compare, "keras-hub preset", encode(source, arrays), arrays, arrays)


@pytest.fixture
def backbone():
    keras_hub = pytest.importorskip("keras_hub", reason="keras-hub is not installed")
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=30,
        num_layers=3,
        num_heads=4,
        hidden_dim=16,
        intermediate_dim=24,
        max_sequence_length=12,
    )
    random = np.random.default_rng(3)
    backbone.set_weights([random.normal(0, 0.5, weight.shape) for weight in backbone.weights])
    return backbone


def live_inputs() -> dict:
    random = np.random.default_rng(4)
    return {
        "token_ids": random.integers(1, 30, (3, 12)).astype("int32"),
        "segment_ids": random.integers(0, 2, (3, 12)).astype("int32"),
        "padding_mask": (np.arange(12) < np.array([[12], [6], [1]])).astype("int32"),
    }


def test_backbone_object(backbone, compare):
    inputs = live_inputs()
    encoded = encode(keras_nlp.read(backbone, lower_case=True), inputs)
    compare_outputs(compare, "keras-hub object", encoded, inputs, backbone(inputs))


def test_saved_preset_equals_the_object(backbone, tmp_path):
    import keras_hub

    backbone.save_to_preset(str(tmp_path / "preset"))
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
    tokenizer = keras_hub.models.BertTokenizer(vocabulary=pieces, lowercase=True)
    tokenizer.save_to_preset(str(tmp_path / "preset"))
    from_object = keras_nlp.read(backbone, tokenizer=tokenizer)
    from_folder = keras_nlp.read(tmp_path / "preset")
    assert from_folder.config == from_object.config
    assert (from_folder.vocabulary, from_folder.lower_case) == (pieces, True)
    assert (from_object.vocabulary, from_object.lower_case) == (pieces, True)
    assert from_folder.weights.keys() == from_object.weights.keys()
    for name, array in from_object.weights.items():
        np.testing.assert_array_equal(from_folder.weights[name], array)


def test_our_weights_in_the_backbone(backbone, compare):
    """The table the other way: weights of a native encoder, run by keras-hub."""
    source = keras_nlp.read(backbone)
    random = np.random.default_rng(5)
    source.weights = {
        name: random.normal(0, 0.5, array.shape).astype(np.float32)
        for name, array in source.weights.items()
    }
    rows = keras_nlp.table_rows(keras_nlp.OBJECT_TABLE, source.config)
    arrays = to_foreign(rows, source.weights)
    backbone.set_weights([arrays[weight.path] for weight in backbone.weights])
    inputs = live_inputs()
    encoded = encode(source, inputs)
    compare_outputs(compare, "keras-hub with our weights", encoded, inputs, backbone(inputs))
