"""A smaller vocabulary of word pieces: those that a corpus uses most, and all single characters."""

from collections.abc import Sequence

import numpy as np

from hub_modules.errors import ConfigError
from hub_modules.preprocess.bert import CONTINUATION
from hub_modules.sources.files.folder import SPECIAL_PIECES


def cut_vocabulary(vocabulary: Sequence[str], counts: np.ndarray, size: int) -> np.ndarray:
    """The ids of the pieces that stay, in rising order: `[size] int64`.

    Special pieces and single characters, at the start of a word and inside, always stay: with them
    every word that the whole vocabulary could spell is spelt still. The rest are the pieces used
    most, of equals those with the lower id.

    Args:
        vocabulary: pieces by id.
        counts: `[pieces]`, how often a corpus uses each.
        size: number of pieces to keep.

    Raises:
        ConfigError: the vocabulary is no larger than `size`, or special pieces and characters alone
            are more.
    """
    must = np.array([_is_needed(piece) for piece in vocabulary])
    if not must.sum() <= size <= len(vocabulary):
        raise ConfigError(
            f"vocabulary (--vocabulary): expected from {must.sum():,} pieces (special ones and "
            f"single characters, which always stay) to {len(vocabulary):,} (all), got {size:,}"
        )
    used_most = np.lexsort((np.arange(len(vocabulary)), -counts, ~must))
    return np.sort(used_most[:size])


def _is_needed(piece: str) -> bool:
    return piece in SPECIAL_PIECES or len(piece.removeprefix(CONTINUATION)) == 1
