"""An encoder of some of a module's transformer layers: which, and whose weights each gets."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from hub_modules.errors import ConfigError

# `layer_3/…` in modules of ours, `transformer_layer_3/…` and the like in keras-hub.
_LAYER = re.compile(r"(\w*layer_)(\d+)(/.*)")


def check_keep_layers(keep_layers: Sequence[int], num_layers: int, where: str) -> None:
    """Refuses layers that a module does not have, and any other order than bottom to top.

    Args:
        keep_layers: numbers of layers, from 0, the lowest above the embeddings.
        num_layers: of the module.
        where: begins the message.

    Raises:
        ConfigError: a number is no layer's, stands twice or is out of order, or there is none.
    """
    numbers = list(keep_layers)
    are_layers = all(type(number) is int and 0 <= number < num_layers for number in numbers)
    if not numbers or not are_layers or numbers != sorted(set(numbers)):
        raise ConfigError(
            f"{where}: keep_layers (encoder.keep_layers in a config): expected at least one of the "
            f"layers 0 to {num_layers - 1}, each once and from bottom to top, got {numbers}"
        )


def refuse_keep_layers(keep_layers: Sequence[int] | None, where: str, what: str) -> None:
    """Refuses `keep_layers` for a module whose layers cannot be left out.

    Args:
        what: the module, as the end of "got …".

    Raises:
        ConfigError: `keep_layers` is given.
    """
    if keep_layers is not None:
        raise ConfigError(
            f"{where}: keep_layers (encoder.keep_layers in a config): expected a transformer with "
            "a layer of its own at each height (BERT, GPT-2, MPNet, most of keras-hub's), which "
            f"runs natively, got {what}; leave it out"
        )


def kept_config(
    config: dict, keep_layers: Sequence[int] | None, where: str, in_one_piece: str = ""
) -> dict:
    """The arguments of an encoder that has only these layers; None: all.

    Args:
        where: begins a message.
        in_one_piece: what a module is whose layers cannot be left out.

    Raises:
        ConfigError: as `check_keep_layers`, `refuse_keep_layers`.
    """
    if keep_layers is None:
        return config
    if in_one_piece:
        refuse_keep_layers(keep_layers, where, in_one_piece)
    check_keep_layers(keep_layers, config["num_layers"], where)
    return config | {"num_layers": len(keep_layers)}


def kept_weights(
    arrays: dict[str, np.ndarray], keep_layers: Sequence[int] | None
) -> dict[str, np.ndarray]:
    """The weights of an encoder that has only these layers, which are numbered from 0 again.

    Weights of no layer (embeddings, pooler, final LayerNorm) stay. None: all.
    """
    if keep_layers is None:
        return arrays
    places = {number: place for place, number in enumerate(keep_layers)}
    kept = {}
    for name, array in arrays.items():
        match = _LAYER.fullmatch(name)
        if match is None:
            kept[name] = array
        elif int(match[2]) in places:
            kept[f"{match[1]}{places[int(match[2])]}{match[3]}"] = array
    return kept


def kept_hash(content: str, keep_layers: Sequence[int] | None) -> str:
    """The hash of an encoder of these layers of a module with the hash `content`; None: of all."""
    if keep_layers is None:
        return content
    return hashlib.sha256(f"{content} layers {list(keep_layers)}".encode()).hexdigest()
