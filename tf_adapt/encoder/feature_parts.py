"""Cached features of a frozen encoder: the arrays that a head reads, their dtype and size."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from hub_modules.native.given_states import states_key
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.data.stored.tokens import token_count
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.layers.head_inputs import HeadInputs
from tf_adapt.layers.texts import row_vectors


@dataclass(frozen=True)
class FeaturePart:
    """One cached array.

    Attributes:
        name: of its files, and in the key of the cache.
        key: its name among the inputs of `HubEncoder`: "states", "pooled" or `states_of_NAME`.
        shape: of one row.
        per_text: whether a text has one row; else it has one for each token.
        take: the encoder's outputs and inputs → `[batch, time, *shape]`, or `[batch, *shape]`.
        source: a larger part of which it is a selection, with the same bits whatever the dtype.
    """

    name: str
    key: str
    shape: tuple[int, ...]
    per_text: bool
    take: Callable[[dict, dict], tf.Tensor]
    source: "FeaturePart | None" = None


def parts_of(
    head_inputs: HeadInputs, encoder: HubEncoder, with_pooled: bool = True
) -> list[FeaturePart]:
    """What a head reads, as arrays.

    Shapes: hidden states `[layers, width]` for each token, or for each text if the head pools them
    first; the pooled vector `[width]` for each text.

    Args:
        with_pooled: whether the encoder has a pooled vector.
    """
    parts, width = [], encoder.output_width
    if head_inputs.layers is not None:
        chosen = slice(None) if head_inputs.layers == "all" else slice(-1, None)
        shape = (encoder.num_layers if head_inputs.layers == "all" else 1, width)

        def states(encoded, inputs):
            return tf.stack(encoded["layers"][chosen], axis=2)

        def vectors(encoded, inputs):
            layers = encoded["layers"][chosen]
            rows = [
                row_vectors([layer], [encoded], inputs, head_inputs.pooling)[0] for layer in layers
            ]
            return tf.stack(rows, axis=1)

        if head_inputs.pooling is None:
            source = None if head_inputs.layers == "all" else _all_layers(encoder)
            parts.append(FeaturePart(head_inputs.layers, "states", shape, False, states, source))
        else:
            name = f"{head_inputs.layers}_{head_inputs.pooling}"
            # The mean of rounded states is not the rounded mean.
            source = None if head_inputs.pooling == "mean" else _all_layers(encoder)
            parts.append(FeaturePart(name, "states", shape, True, vectors, source))
    if head_inputs.pooled and with_pooled:
        parts.append(
            FeaturePart("pooled", "pooled", (width,), True, lambda encoded, _: encoded["pooled"])
        )
    return parts


def _all_layers(encoder: HubEncoder) -> FeaturePart:
    (part,) = parts_of(HeadInputs("all", pooled=False), encoder)
    return part


def layer_part(name: str, number: int, width: int) -> FeaturePart:
    """The hidden states of the layer group `name`, which is `layers[number]` of the outputs."""
    return FeaturePart(
        name, states_key(name), (width,), False, lambda encoded, _: encoded["layers"][number]
    )


def computed_dtype(encoder: HubEncoder) -> np.dtype:
    """Dtype that the encoder's outputs are computed in."""
    return numpy_dtype("float32" if encoder.execution == "saved_model" else encoder.compute_dtype)


def kept_dtype(encoder: HubEncoder, dtype: str) -> np.dtype:
    """Dtype of the cached features: `features.dtype`, but never a wider one than was computed."""
    computed, wanted = computed_dtype(encoder), numpy_dtype(dtype)
    return wanted if wanted.itemsize < computed.itemsize else computed


def numpy_dtype(name: str) -> np.dtype:
    """The NumPy dtype of a TensorFlow dtype name."""
    return np.dtype(tf.as_dtype(name).as_numpy_dtype)


def megabytes(
    prepared: PreparedData, encoder: HubEncoder, parts: list[FeaturePart], dtype: np.dtype
) -> float:
    """Megabytes of the cached features of the larger text column.

    For cached states of one layer, positions that an encoder adds to each text are counted too.
    """
    texts, tokens = len(prepared.lengths), int(prepared.lengths.sum())
    if not prepared.joint:
        special = encoder.preprocessor.special_tokens(1) * texts
        tokens = special + max(map(token_count, prepared.segments))
    numbers = 0
    for part in parts:
        added = 0 if part.key in ("states", "pooled") else encoder.native.boundary_positions
        rows = texts if part.per_text else tokens + added * texts
        numbers += rows * int(np.prod(part.shape))
    return numbers * dtype.itemsize / 1e6


def columns(prepared: PreparedData) -> int:
    """Number of texts per example that are encoded separately."""
    return 1 if prepared.joint else len(prepared.segments)
