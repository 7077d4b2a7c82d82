"""What a head reads of an encoder's outputs: all that has to be kept of a frozen encoder."""

from dataclasses import dataclass
from typing import Literal

import keras


@dataclass(frozen=True)
class HeadInputs:
    """The outputs of an encoder that a head reads.

    Attributes:
        layers: the hidden states of "all" layers (for a learned mix), of the "top" layer, or None.
        pooled: whether it reads the encoder's pooled vector.
        pooling: the head pools the hidden states of each row to one vector (`row_vectors`) before
            anything else, so that this vector is all it reads; None: it reads every position.
    """

    layers: Literal["all", "top"] | None = "all"
    pooled: bool = True
    pooling: str | None = None


EVERYTHING = HeadInputs()
POOLED = HeadInputs(layers=None)


def state_inputs(mixed: bool, pooling: str | None = None, scaled: bool = False) -> HeadInputs:
    """The `HeadInputs` of a head on hidden states: a mix of all layers, or the top layer.

    A mix is learned, so that its maximum cannot be known before, and its mean not to the last bit;
    a mix at the first or last position needs that position alone. A head that is `scaled` pools
    each layer before they are mixed.
    """
    if mixed and not scaled and pooling in ("mean", "max"):
        pooling = None
    return HeadInputs("all" if mixed else "top", pooled=False, pooling=pooling)


def head_inputs_of(head: keras.layers.Layer) -> HeadInputs:
    """The `head_inputs` of a head; everything for a head that does not have the attribute."""
    return getattr(head, "head_inputs", EVERYTHING)
