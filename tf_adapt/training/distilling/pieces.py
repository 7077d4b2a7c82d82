"""The text of a distillation as word pieces of the student, and the vocabulary that it gets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from hub_modules.preprocess import BertPreprocessor
from hub_modules.preprocess.bert import UNKNOWN
from hub_modules.preprocess.cut_vocabulary import cut_vocabulary
from tf_adapt.data.packing.piece_rows import pieces_of_a_batch
from tf_adapt.errors import DataError
from tf_adapt.printing.progress import tracked
from tf_adapt.training.distilling.settings import DistillationSettings

HELD_OUT_SHARE, MOST_HELD_OUT_BATCHES = 0.01, 13
# Text of which more pieces are unknown is in another script.
MOST_UNKNOWN = 0.2
_AT_ONCE = 2000


@dataclass(frozen=True)
class Pieces:
    """The text as ids in the student's numbering.

    Attributes:
        kept: `[pieces of the student] int64`, the teacher's id of each of its pieces.
        held_out: the first paragraphs; train: the others; each `[pieces] int32`.
        held_out_paragraphs: number of the first paragraphs.
    """

    kept: np.ndarray
    held_out: np.ndarray
    train: np.ndarray
    held_out_paragraphs: int


def read_pieces(
    paragraphs: Sequence[str],
    vocabulary: list[str],
    lower_case: bool,
    settings: DistillationSettings,
    where: str,
    progress: bool,
) -> Pieces:
    """Chooses the student's vocabulary, and cuts the paragraphs into its pieces.

    Held out are the first paragraphs, about 1 % of the pieces: at least two batches, at most 13.

    Raises:
        ConfigError: as `cut_vocabulary`.
        DataError: most of the text is in another script, or there is too little of it.
    """
    kept = np.arange(len(vocabulary))
    ids, lengths = _pieces(paragraphs, vocabulary, lower_case, progress)
    _check_script(ids, vocabulary, where)
    if settings.vocabulary is not None:
        counts = np.bincount(ids, minlength=len(vocabulary))
        kept = cut_vocabulary(vocabulary, counts, settings.vocabulary)
        kept_pieces = [vocabulary[number] for number in kept]
        ids, lengths = _pieces(paragraphs, kept_pieces, lower_case, progress)
    batch = pieces_of_a_batch(settings.batch_size, settings.length)
    wanted = np.clip(HELD_OUT_SHARE * len(ids), 2 * batch, MOST_HELD_OUT_BATCHES * batch)
    ends = np.cumsum(lengths)
    paragraphs_out = 1 + int(np.searchsorted(ends, wanted))
    cut = ends[min(paragraphs_out, len(ends)) - 1]
    if len(ids) - cut < 2 * batch:
        raise DataError(
            f"{where}: expected text of {4 * batch:,} word pieces or more (for one batch to train "
            f"on and one held out, each of {batch:,}), in several paragraphs, got {len(ids):,} in "
            f"{len(lengths):,}; give more text, or a lower batch_size or length"
        )
    return Pieces(kept, ids[:cut], ids[cut:], paragraphs_out)


def _pieces(
    paragraphs: Sequence[str], vocabulary: list[str], lower_case: bool, progress: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Ids of all pieces `[pieces] int32`, and how many each paragraph has."""
    tokenizer = BertPreprocessor(vocabulary, lower_case)
    parts = [paragraphs[first : first + _AT_ONCE] for first in range(0, len(paragraphs), _AT_ONCE)]
    pieces = [tokenizer.tokenize(tf.constant(part)) for part in tracked(parts, "text", progress)]
    ids = np.concatenate([part.flat_values.numpy() for part in pieces])
    return ids.astype(np.int32), np.concatenate([part.row_lengths().numpy() for part in pieces])


def _check_script(ids: np.ndarray, vocabulary: list[str], where: str) -> None:
    unknown = float(np.mean(ids == vocabulary.index(UNKNOWN))) if len(ids) else 1.0
    if unknown > MOST_UNKNOWN:
        raise DataError(
            f"{where}: expected text in the teacher's language, got one of which {unknown:.0%} of "
            f"the pieces are unknown to its vocabulary (at most {MOST_UNKNOWN:.0%}); it is in "
            "another script: give other text, or another teacher"
        )
