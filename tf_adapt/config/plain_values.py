"""A config that is given in Python: dicts and lists → what YAML could have said."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from hub_modules.storage.strict_yaml import DEEPEST_NESTING, KeyPath, check_characters, dotted
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.errors import ConfigError

_SCALARS = (str, int, float, bool, type(None))


def plain_values(value: Any, where: str, path: KeyPath = ()) -> Any:
    """A copy of nested values with dicts, lists, texts, numbers, true, false and null alone.

    Tuples become lists, paths texts, NumPy's numbers Python's, and `ta.lora(rank=4)` its section.

    Raises:
        ConfigError: something else is in it, a key that is no text, a text that no file can hold,
            or nesting deeper than `DEEPEST_NESTING`.
    """
    place = ": ".join(filter(None, (where, dotted(path))))
    if len(path) > DEEPEST_NESTING:
        raise ConfigError(f"{where}: expected at most {DEEPEST_NESTING} nested levels, got more")
    if isinstance(value, Adaptation):
        value = value.section()
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ConfigError(f"{place}: expected keys that are text, got {key!r}")
            check_characters(key, place)
        return {key: plain_values(item, where, (*path, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_values(item, where, (*path, place)) for place, item in enumerate(value)]
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) not in _SCALARS:
        raise ConfigError(
            f"{place}: expected text, a number, true, false, null, a list or a dict, got "
            f"{type(value).__name__} {repr(value)[:40]}"
        )
    check_characters(value, place)
    return value
