"""BERT against a module in TF Hub's published format, written by TF Model Garden's exporter."""

import numpy as np

from hub_modules.native.bert import BertEncoder
from hub_modules.sources import published_bert


def test_every_layer_and_the_pooled_output(reference, compare):
    folder = reference / "published_hub_bert"
    source = published_bert.read(folder / "encoder")
    encoder = BertEncoder(**source.config)
    encoder.build()
    encoder.load_weights_by_name(source.weights)
    with np.load(folder / "expected.npz", allow_pickle=False) as recording:
        names = ("input_word_ids", "input_mask", "input_type_ids")
        encoded = encoder({name: recording[name] for name in names})
        real = recording["input_mask"] == 1
        blocks = recording["encoder_outputs"]
        sequence, pooled = recording["sequence_output"], recording["pooled_output"]
    # The published encoder does not give out the embedding output.
    layers = [np.asarray(layer) for layer in encoded["layers"][1:]]
    assert len(layers) == len(blocks)
    for number, (layer, expected) in enumerate(zip(layers, blocks, strict=True)):
        compare(f"published Hub BERT, block {number}", layer[real], expected[real], 1e-5)
    compare("published Hub BERT, sequence output", layers[-1][real], sequence[real], 1e-5)
    compare("published Hub BERT, pooled output", encoded["pooled"], pooled, 1e-5)
