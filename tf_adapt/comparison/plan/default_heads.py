"""The default heads of a comparison. Imports no TensorFlow."""

from typing import Any

from tf_adapt.comparison.kinds import KINDS
from tf_adapt.comparison.plan.sections import EncoderEntry
from tf_adapt.config.default_training import family_of
from tf_adapt.data.catalogue import DATASETS
from tf_adapt.paper import FROZEN


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
    kind = kind_of_data(data)
    if kind is None or adaptation != FROZEN or not encoder.pretrained:
        return ["default"]
    return ["default", *KINDS[kind].frozen_heads(encoder, family_of(encoder.handle))]


def kind_of_data(data: Any) -> str | None:
    """The kind of task of an unchecked section `data`; None where it does not say."""
    if not isinstance(data, dict):
        return None
    known = DATASETS.get(data["dataset"]) if isinstance(data.get("dataset"), str) else None
    return known.kind if known else data.get("kind")
