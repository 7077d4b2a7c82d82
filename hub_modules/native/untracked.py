"""Hides a value from Keras' and TensorFlow's tracking of attributes."""

from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class Untracked:
    """Holds a value that is an attribute of a layer or model, but not a part of it.

    Keras finds and saves layers and variables in lists, tuples and dicts as well.
    """

    value: Any
