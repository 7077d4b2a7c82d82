"""The factor of the learning rate of each layer group, and the group of each weight by its path."""

import math
import os

from tf_adapt.adaptation.phases import ACROSS, HEAD
from tf_adapt.errors import ConfigError
from tf_adapt.printing.words import did_you_mean

# As in google-research/bert: no weight decay for biases and the parameters of LayerNorms.
NOT_DECAYED = ("bias", "gamma", "beta")


def layer_factors(
    groups: list[str], decay: float | None = None, factors: dict[str, float] | None = None
) -> dict[str, float]:
    """The factor of each layer group, bottom to top, and of the head, the last.

    Args:
        groups: names of the encoder's adaptable groups, bottom to top.
        decay: in (0, 1]: the highest group gets decay, the next decay², …; head, adapters,
            LoRA, biases and new embeddings 1.
        factors: {group: factor >= 0} instead; groups left out get 1. Without either all get 1.

    Raises:
        ConfigError: both are given, a group is unknown, or a number is out of range.
    """
    names = [*groups, HEAD]
    if decay is not None and factors is not None:
        raise ConfigError("decay, factors: expected one of them, got both; leave one out")
    if factors is None:
        decay = 1.0 if decay is None else decay
        if not _is_number(decay) or not 0 < decay <= 1:
            raise ConfigError(f"decay: expected a number above 0 and up to 1, got {decay!r}")
        pretrained = [name for name in groups if name not in ACROSS]
        factors = {name: decay ** (n + 1) for n, name in enumerate(reversed(pretrained))}
    for name, factor in factors.items():
        if name not in names:
            raise ConfigError(
                f"factors: expected some of the groups {', '.join(names)}, got {name!r}"
                f"{did_you_mean(str(name), names)}"
            )
        if not _is_number(factor) or not 0 <= factor < math.inf:
            raise ConfigError(f"factors.{name}: expected a number from 0 up, got {factor!r}")
    return {name: float(factors.get(name, 1.0)) for name in names}


def group_of_each(paths: list[str], known: dict[str, list[str]]) -> list[str]:
    """The group of each weight, by whole components of its path; "head" if it is in no group.

    In another process the encoder may have another name. If no path matches exactly, that name is
    ignored on both sides: the paths below it are the same.

    Args:
        paths: paths of the weights.
        known: group → paths of its weights when the groups were recorded.
    """
    group_of = {path: group for group, inside in known.items() for path in inside}
    if any(path in group_of for path in paths):
        return [group_of.get(path, HEAD) for path in paths]
    front = len(os.path.commonprefix([path.split("/")[:-1] for path in group_of]))
    group_of = {"/".join(path.split("/")[front:]): group for path, group in group_of.items()}
    ends = [["/".join(path.split("/")[n:]) for n in range(path.count("/") + 1)] for path in paths]
    return [next((group_of[end] for end in those if end in group_of), HEAD) for those in ends]


def _is_number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def decays(name: str) -> bool:
    """Whether weight decay applies to a weight of this name (`layer_0/output/bias`, `beta:0`)."""
    return not name.split("/")[-1].split(":")[0].endswith(NOT_DECAYED)
