"""Layer groups as a list with a readable `repr`; the group of all biases."""

from collections.abc import Sequence

import keras

from hub_modules.native.weights import count_parameters

BIASES = "biases"


class LayerGroups(list):
    """A list of `(name, weights)`, bottom to top; its `repr` is one line per group with counts."""

    def __repr__(self) -> str:
        width = max((len(name) for name, _ in self), default=0)
        return "\n".join(
            f"{name:<{width}}  {len(weights)} weights, {count_parameters(weights):,} parameters"
            for name, weights in self
        )


def with_bias_group(
    groups: list[tuple[str, list[keras.Variable]]], unread: Sequence[str]
) -> list[tuple[str, list[keras.Variable]]]:
    """Moves every bias into the group `biases`, the last, but for those of the groups in `unread`.

    Biases are the weights with such a name and the β of LayerNorms. Still a partition.
    """
    rest, biases = [], []
    for name, weights in groups:
        moved = [] if name in unread else [weight for weight in weights if is_bias(weight)]
        ids = set(map(id, moved))
        biases += moved
        rest.append((name, [weight for weight in weights if id(weight) not in ids]))
    return [*rest, (BIASES, biases)]


def is_bias(weight: keras.Variable) -> bool:
    """Whether a weight is a bias or the β of a LayerNorm."""
    return weight.name.endswith(("bias", "beta"))
