"""How alike an encoder finds two texts before any training."""

from collections.abc import Sequence

import numpy as np

from tf_adapt.analysis.states import pooled_states
from tf_adapt.data.formats import Record
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.tasks.task import Task


def text_similarities(
    encoder: HubEncoder,
    first: Sequence[str],
    second: Sequence[str],
    max_length: int | None = None,
) -> np.ndarray:
    """The cosine of the mean top-layer states of two texts, `u·v / (‖u‖ ‖v‖)`, each text encoded by
    itself, without special tokens; 0 for a text without a state.

    Shapes: → `[pairs] float32`.

    Args:
        max_length: most tokens of a text, special ones included; longer ones are cut.
    """
    texts = list(dict.fromkeys([*first, *second]))
    task = Task("classification", labels=["none"])
    prepared = prepare([Record(text) for text in texts], task, encoder, max_length, truncate=True)
    states = pooled_states(encoder, prepared)[-1]
    # The least number keeps a text of zeros at 0.
    units = states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-12)
    places = {text: place for place, text in enumerate(texts)}
    one, other = ([places[text] for text in side] for side in (first, second))
    return np.einsum("pw,pw->p", units[one], units[other])
