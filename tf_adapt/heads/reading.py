"""What a head reads of an encoder, given and by default: one rule for all that build or describe.

Imports no TensorFlow.
"""

from dataclasses import dataclass, field

from hub_modules.families import FAMILIES
from tf_adapt.errors import ConfigError
from tf_adapt.heads.names import ON_VECTORS, SIMILARITY_HEADS

_POOLINGS = {
    "first": "the first state",
    "last": "the last state",
    "mean": "the mean of the states",
    "max": "the maximum of the states",
}


@dataclass(frozen=True)
class Reading:
    """What a head reads.

    Attributes:
        pooling: of hidden states to a vector, a key of `tf_adapt.layers.pooling.POOLINGS`; None:
            the head's published way.
        mixed: a learned mix of all layers, not the top layer.
        scaled: the vectors are standardised over the training texts, see `Standardisation`.
        words: all of this as a phrase; it is no part of what is compared.
    """

    pooling: str | None
    mixed: bool
    scaled: bool
    words: str = field(compare=False)


def reading(
    name: str,
    family: str,
    frozen: bool,
    pooling: str | None = None,
    mixed: bool | None = None,
    scaled: bool | None = None,
) -> Reading:
    """What a head reads where some of it is left to the defaults.

    Of a frozen encoder it is a learned mix of all layers, of a tuned one the top layer (Peters,
    Ruder, Smith 2019, section 3). `linear` reads the pooled vector; of a frozen encoder, whose
    pooler was trained for another task, the mean of the states, standardised. One like ELMo, which
    has no pooled vector, keeps its published way. The heads on a similarity read the mean, of a
    frozen encoder standardised. Of an encoder with one vector for a text, all read that vector.

    Args:
        name: of the head, a key of `tf_adapt.heads.table.HEADS`.
        family: of the encoder.
        frozen: whether the encoder stays frozen for the whole run.
        pooling, mixed, scaled: given; None: the default.

    Raises:
        ConfigError: the head or the encoder cannot be read so.
    """
    _check_scaled(name, family, frozen, scaled)
    if scaled is None:
        scaled = frozen and _takes_scale(name, family)
    pooling = pooling or _default_pooling(name, family, scaled)
    if name in ON_VECTORS and pooling is None:
        if mixed is not None:
            advice = "set head_pooling" if FAMILIES[family].has_words else "leave it out"
            raise ConfigError(
                f"head_mixed: expected null for the head {name}, which reads the pooled vector, "
                f"got {str(mixed).lower()}; {advice}"
            )
        return Reading(None, False, False, "the pooled vector")
    mixed = frozen if mixed is None else mixed
    layers = "all layers in a learned mix" if mixed else "the top layer"
    words = f"{_POOLINGS.get(pooling, 'the states')} of {layers}"
    return Reading(pooling, mixed, scaled, words + (", standardised" if scaled else ""))


def _default_pooling(name: str, family: str, scaled: bool) -> str | None:
    about = FAMILIES[family]
    if scaled or (name in SIMILARITY_HEADS and about.has_words):
        return "mean"
    return "max" if name == "linear" and about.is_like_elmo else None


def _takes_scale(name: str, family: str) -> bool:
    about = FAMILIES[family]
    takes = name in SIMILARITY_HEADS or (name == "linear" and not about.is_like_elmo)
    return takes and about.has_words


def _check_scaled(name: str, family: str, frozen: bool, scaled: bool | None) -> None:
    if not scaled:
        return
    expected = "head_scaled: expected null or false"
    if not frozen:
        raise ConfigError(
            f"{expected} on an encoder that is trained, whose states change, got true; take "
            "adaptation: feature_extraction"
        )
    if not _takes_scale(name, family):
        raise ConfigError(
            f"{expected} for the head {name} on an encoder of the family {family}, got true; it "
            f"is for linear on transformers, and for {' and '.join(SIMILARITY_HEADS)} on encoders "
            "with a state for each word"
        )
