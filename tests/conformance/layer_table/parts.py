"""Layers of encoders and heads."""

import numpy as np

from hub_modules.native.added.adapters import (
    BidirectionalAdapter,
    BottleneckAdapter,
)
from hub_modules.native.added.lora import LowRank
from hub_modules.native.added.projected_attention import ProjectedAttention
from hub_modules.native.output_layers import (
    BiLanguageModelHead,
    MaskedLanguageModelHead,
    TiedLanguageModelHead,
)
from layer_table.inputs import (
    CONSTRAINTS,
    LENGTHS,
    WIDTH,
    first_only,
    layers_and_mask,
    states_and_mask,
    states_and_table,
    tagged_words,
    text,
)
from layer_table.row import Row, part, real_words
from tf_adapt.layers.bi_lstm import BiLstm
from tf_adapt.layers.crf import CRF
from tf_adapt.layers.maxout import Maxout
from tf_adapt.layers.scalar_mix import ScalarMix


def both_layers(layer, states, mask, **options):
    """The projected attention of the first block, read by that of the second."""
    return layer(layer(states, mask, index=0, **options), mask, index=1, **options)


PARTS = {
    "BottleneckAdapter": part(
        BottleneckAdapter,
        {"width": WIDTH, "size": 3, "activation": "gelu_tanh"},
        first_only(states_and_mask),
        {"operation": "convolution", "parallel": True},
    ),
    "BottleneckAdapter, convolution": part(
        BottleneckAdapter,
        {"width": WIDTH, "size": 3, "activation": "relu", "operation": "convolution"},
        states_and_mask,
    ),
    "BidirectionalAdapter": part(
        BidirectionalAdapter,
        {"width": WIDTH, "size": 3, "activation": "gelu_exact"},
        lambda extra: (np.stack(text(extra, seed=3)["layers"]),),
        {"activation": "relu", "operation": "convolution"},
        real=lambda states: [states[:, row, :n] for row, n in enumerate(LENGTHS)],
    ),
    "LowRank": part(
        LowRank,
        {"inputs": WIDTH, "outputs": 4, "rank": 2, "alpha": 3.0},
        first_only(states_and_mask),
    ),
    "ProjectedAttention": part(
        ProjectedAttention,
        {"width": WIDTH, "size": 4, "num_layers": 2, "activation": "gelu_exact", "dropout": 0.2},
        states_and_mask,
        call=both_layers,
    ),
    "MaskedLanguageModelHead": Row(
        MaskedLanguageModelHead,
        {"width": WIDTH, "vocabulary_size": 20},
        states_and_table,
        real_words(*LENGTHS),
        {"activation": "gelu_tanh", "layer_norm_epsilon": 1e-6},
    ),
    "TiedLanguageModelHead": Row(
        TiedLanguageModelHead, {"vocabulary_size": 20}, states_and_table, real_words(*LENGTHS)
    ),
    "BiLanguageModelHead": Row(
        BiLanguageModelHead,
        {"num_words": 20, "projection_width": WIDTH // 2},
        first_only(states_and_table),
        real_words(*LENGTHS),
    ),
    "CRF": Row(
        CRF,
        {"num_tags": 3},
        tagged_words,
        lambda log_likelihoods: [log_likelihoods],
        {"constraints": CONSTRAINTS, "boundary_scores": False, "reduction": "sum"},
        call=lambda crf, *inputs, training=None: crf.log_likelihood(*inputs),
    ),
    "BiLstm": part(BiLstm, {"units": 4}, states_and_mask),
    "Maxout": part(Maxout, {"units": 3, "pool": 2}, first_only(states_and_mask)),
    "ScalarMix": part(
        ScalarMix, {"dropout": 0.2}, layers_and_mask, {"layer_norm": True, "l2": 0.1}
    ),
    "ScalarMix, layer norm": part(ScalarMix, {"layer_norm": True, "dropout": 0.2}, layers_and_mask),
}
