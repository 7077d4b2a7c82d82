"""BERT against HuggingFace's: every hidden state and the pooled output of MiniLM."""

import numpy as np

from hub_modules.native.bert import BertEncoder
from hub_modules.sources import huggingface


def test_every_hidden_state_and_the_pooled_output(shared, reference, compare):
    source = huggingface.read(shared / "models" / "minilm_l6_h384")
    encoder = BertEncoder(**source.config)
    encoder.build()
    encoder.load_weights_by_name(source.weights)
    recording_path = reference / "huggingface" / "minilm_l6_h384.npz"
    with np.load(recording_path, allow_pickle=False) as recording:
        names = ("input_word_ids", "input_mask", "input_type_ids")
        inputs = {name: recording[name].astype(np.int32) for name in names}
        hidden_states, pooled = recording["hidden_states"], recording["pooled_output"]
    encoded = encoder(inputs)
    real = inputs["input_mask"] == 1
    assert len(encoded["layers"]) == len(hidden_states)
    for number, (layer, expected) in enumerate(zip(encoded["layers"], hidden_states, strict=True)):
        what = f"HuggingFace MiniLM, hidden state {number}"
        compare(what, np.asarray(layer)[real], expected[real], 1e-4)
    compare("HuggingFace MiniLM, pooled output", encoded["pooled"], pooled, 1e-4)
