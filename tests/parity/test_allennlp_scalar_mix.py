"""The mix of layers against what AllenNLP recorded, with and without layer norm."""

import numpy as np
import pytest

from tf_adapt.layers.scalar_mix import ScalarMix


@pytest.mark.parametrize("name", ["scalar_mix", "scalar_mix_layer_norm"])
def test_the_mix_is_allennlps(reference, compare, name):
    with np.load(reference / "allennlp" / f"{name}.npz", allow_pickle=False) as arrays:
        recorded = dict(arrays)
    layers, mask = list(recorded["layers"]), recorded["mask"].astype(bool)
    mix = ScalarMix(layer_norm=name.endswith("layer_norm"))
    mix(layers, mask)
    mix.scalars.assign(
        np.concatenate([recorded[f"weight:scalar_parameters.{k}"] for k in range(len(layers))])
    )
    mix.gamma.assign(recorded["weight:gamma"][0])
    # Padding has no meaning for whoever reads the mix.
    compare(f"AllenNLP {name}", mix(layers, mask)[mask], recorded["mixed"][mask], 1e-5)
