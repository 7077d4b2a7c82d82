"""Running text as rows of word pieces without padding, in an order that is a function of a seed."""

import functools

import numpy as np

# In turn a batch has rows of the whole length, twice as many of half of it, four times as many of a
# quarter: heads get sentences, not pages.
PARTS = (1, 2, 4)
# `[CLS] a [SEP] b [SEP]`: the special pieces of the longest kind of row.
MOST_SPECIAL = 3


class PieceRows:
    """Batches of rows from pieces of running text.

    The text is cut into blocks, which each pass over it begins at another piece and takes in
    another order. A batch has `batch_size` blocks, in `PARTS` in turn; its rows are single texts
    `[CLS] a [SEP]`, or pairs `[CLS] a [SEP] b [SEP]` with a the beginning and b the rest, each
    three batches in turn.

    Args:
        pieces: `[pieces] int32`, at least `pieces_of_a_batch`.
        batch_size: blocks of a batch.
        length: of the longest rows, special pieces included.
        start_id, end_id: of `[CLS]` and `[SEP]`.
        seed: of order and cuts.
    """

    def __init__(
        self,
        pieces: np.ndarray,
        batch_size: int,
        length: int,
        start_id: int,
        end_id: int,
        seed: int,
    ):
        self._pieces, self._batch_size, self._seed = pieces, batch_size, seed
        self._block = length - MOST_SPECIAL
        self._special = start_id, end_id
        # Without the last block a pass may begin at any piece of the first.
        self._blocks = max(batch_size, (len(pieces) - self._block) // self._block)
        self._pass = functools.lru_cache(maxsize=1)(self._order)

    @property
    def batches(self) -> int:
        """Number of batches of a pass over the text."""
        return self._blocks // self._batch_size

    def batch(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and segments `[rows, time] int32` of the batch at a step from 0."""
        number, place = divmod(step, self.batches)
        first, order = self._pass(number)
        chosen = order[place * self._batch_size : (place + 1) * self._batch_size]
        columns = np.arange(self._block)
        content = self._pieces[first + chosen[:, None] * self._block + columns]
        width = self._block // PARTS[step % len(PARTS)]
        rows = content[:, : width * PARTS[step % len(PARTS)]].reshape(-1, width)
        is_pair = step // len(PARTS) % 2 == 1
        return self._packed(rows, self._cuts(step, *rows.shape) if is_pair else None)

    def _order(self, number: int) -> tuple[int, np.ndarray]:
        random = np.random.default_rng([self._seed, 0, number])
        spare = len(self._pieces) - self._blocks * self._block
        return int(random.integers(spare + 1)), random.permutation(self._blocks)

    def _cuts(self, step: int, rows: int, width: int) -> np.ndarray:
        """Where the second text of each row begins: in the middle half."""
        random = np.random.default_rng([self._seed, 1, step])
        return random.integers(width // 4, width - width // 4, size=rows)

    def _packed(self, rows: np.ndarray, cuts: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        count, width = rows.shape
        start, end = self._special
        ids = np.full((count, width + (2 if cuts is None else 3)), end, np.int32)
        ids[:, 0] = start
        cuts = np.full(count, width) if cuts is None else cuts
        places = 1 + np.arange(width) + (np.arange(width) >= cuts[:, None])
        np.put_along_axis(ids, places, rows, axis=1)
        segments = np.arange(ids.shape[1]) > cuts[:, None] + 1
        return ids, segments.astype(np.int32)


def pieces_of_a_batch(batch_size: int, length: int) -> int:
    """The least number of pieces of a text that gives a batch."""
    return batch_size * (length - MOST_SPECIAL)
