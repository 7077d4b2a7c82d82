"""The ESIM head with AllenNLP's recorded weights and logits."""

import numpy as np

from tf_adapt.heads.esim import ESIM


def test_logits_are_allennlps(reference, compare, set_lstm):
    with np.load(reference / "allennlp" / "esim.npz", allow_pickle=False) as arrays:
        recorded = dict(arrays)
    head = ESIM(
        recorded["logits"].shape[1],
        units=recorded["weight:_encoder._module.weight_hh_l0"].shape[1],
        mixed=False,
    )
    encoded = [
        {"layers": [recorded[text]], "mask": recorded[f"{text}_mask"].astype(bool)}
        for text in ("premise", "hypothesis")
    ]
    head(encoded)
    set_lstm(head.encoder, recorded, "_encoder")
    set_lstm(head.inference, recorded, "_inference_encoder")
    set_dense(head.projection, recorded, "_projection_feedforward")
    set_dense(head.hidden, recorded, "_output_feedforward")
    set_dense(head.dense, recorded, "_output_logit")
    compare("AllenNLP ESIM, logits", head(encoded), recorded["logits"], 1e-5)


def set_dense(layer, recorded: dict, name: str) -> None:
    prefix = f"weight:{name}._linear_layers.0."
    layer.set_weights([recorded[prefix + "weight"].T, recorded[prefix + "bias"]])
