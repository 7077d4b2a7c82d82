"""The default heads of a comparison. Imports no TensorFlow."""

from typing import Any

from hub_modules.families import joins_pairs
from tf_adapt.comparison.plan.default_rates import family_of
from tf_adapt.comparison.plan.sections import EncoderEntry
from tf_adapt.data.catalogue import DATASETS
from tf_adapt.paper import FROZEN
from tf_adapt.tasks.kinds import PAIRS, SPAN_EXTRACTION


def default_heads(data: Any, encoder: EncoderEntry, adaptation: str) -> list[str]:
    """`default`; for a frozen pretrained encoder also a linear head.

    The paper's heads for frozen encoders (`bcn`, `esim`, `bilstm`) may be larger than the encoder;
    comparison with `linear` (tagging: `linear_tagger`) shows whether they are worth their cost.
    BERT has no linear head on pairs that it reads apart; a sentence module and span extraction
    have no other.

    Args:
        data: the config's section `data`, unchecked; without a kind of task only `default` is
            returned.

    Raises:
        ArtifactError: the manifest of the module is damaged.
    """
    kind = _kind_of(data)
    if kind is None or adaptation != FROZEN or not encoder.pretrained:
        return ["default"]
    family = family_of(encoder.handle)
    if family == "sentence" or kind == SPAN_EXTRACTION:
        return ["default"]
    reads_one = family is None or joins_pairs(family)
    reads_apart = encoder.pairs == "separate" or encoder.long is not None
    if kind in PAIRS and reads_apart and reads_one:
        return ["default"]
    return ["default", "linear_tagger" if kind == "tagging" else "linear"]


def _kind_of(data: Any) -> str | None:
    if not isinstance(data, dict):
        return None
    known = DATASETS.get(data["dataset"]) if isinstance(data.get("dataset"), str) else None
    return known.kind if known else data.get("kind")
