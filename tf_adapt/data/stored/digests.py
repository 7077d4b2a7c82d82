"""Digests in place of values: 16 bytes each, equal where the values are."""

import hashlib
from collections.abc import Iterable

import numpy as np


def digests(values: Iterable) -> np.ndarray:
    """BLAKE2b, 128 bits, of the `repr` of each value: `[values] S16`."""
    return np.fromiter(map(_digest, values), "S16")


def _digest(value: object) -> bytes:
    return hashlib.blake2b(repr(value).encode(), digest_size=16).digest()
