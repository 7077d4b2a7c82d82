"""ELMo against AllenNLP's: every layer of a padded batch, each sentence from a zero state."""

import numpy as np

from hub_modules.native.elmo import ElmoEncoder
from hub_modules.sources import bilm_tf


def test_every_layer_and_their_mean(reference, compare):
    source = bilm_tf.read(reference / "allennlp_elmo")
    encoder = ElmoEncoder(**source.config)
    encoder.build()
    encoder.load_weights_by_name(source.weights)
    with np.load(reference / "allennlp" / "elmo.npz", allow_pickle=False) as recording:
        ids, mask = recording["character_ids"].astype(np.int32), recording["mask"]
        # The boundary words are at the first position and after the last word.
        expected, mixed = recording["layers_with_bos_eos"][:, :, 1:-1], recording["mixed"]
    encoded = encoder({"character_ids": ids})
    np.testing.assert_array_equal(np.asarray(encoded["mask"]), mask)
    layers = np.stack([np.asarray(layer) for layer in encoded["layers"]])
    assert len(layers) == len(expected)
    for number in range(len(expected)):
        compare(
            f"AllenNLP ELMo, layer {number}", layers[number][mask], expected[number][mask], 1e-5
        )
    compare("AllenNLP ELMo, mean of the layers", layers.mean(axis=0)[mask], mixed[mask], 1e-5)
