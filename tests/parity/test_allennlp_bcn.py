"""The BCN head with AllenNLP's recorded weights and logits."""

import numpy as np

from tf_adapt.heads.bcn import BCN


def test_logits_are_allennlps(reference, compare, set_lstm):
    with np.load(reference / "allennlp" / "bcn.npz", allow_pickle=False) as arrays:
        recorded = dict(arrays)
    head = BCN(
        recorded["logits"].shape[1],
        units=recorded["weight:_encoder._module.weight_hh_l0"].shape[1],
        mixed=False,
    )
    encoded = [{"layers": [recorded["inputs"]], "mask": recorded["mask"].astype(bool)}]
    head(encoded)
    set_lstm(head.encoder, recorded, "_encoder")
    set_lstm(head.integrator, recorded, "_integrator")
    set_dense(head.pre_encoder, recorded, "_pre_encode_feedforward._linear_layers.0")
    # Its bias adds the same to all scores of a softmax: ours has none.
    projection = recorded["weight:_self_attentive_pooling_projection.weight"]
    head.self_attention.set_weights([projection.T])
    for place, maxout in enumerate(head.maxouts):
        set_dense(maxout.dense, recorded, f"_output_layer._linear_layers.{place}")
    compare("AllenNLP BCN, logits", head(encoded), recorded["logits"], 1e-5)


def set_dense(layer, recorded: dict, name: str) -> None:
    layer.set_weights([recorded[f"weight:{name}.weight"].T, recorded[f"weight:{name}.bias"]])
