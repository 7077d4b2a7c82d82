"""Tokens of texts: in memory, and in a file where they are too many."""

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from tf_adapt.data.stored.unnamed_file import UnnamedFile

_AT_ONCE = 2**22  # bytes


class TokensOnDisk:
    """Ids `[texts, (tokens)]` or words `[texts, (words)] string`, as a ragged tensor would be.

    Args:
        file: ids as they are, and the words of each text with a NUL between them, which no word
            has.
        ends: `[texts + 1]`, the byte at which each text begins, and the end of the last one.
        row_splits: `[texts + 1]`, the same in tokens.
    """

    def __init__(
        self, file: UnnamedFile, ends: np.ndarray, row_splits: np.ndarray, dtype: tf.DType
    ):
        self._file, self._ends = file, ends
        self.row_splits, self.dtype = row_splits, dtype

    def rows(self, index: tf.Tensor) -> tf.RaggedTensor:
        """The texts at `index` `[batch]`, read when the graph runs: `[batch, (tokens)]`."""
        types = [self.dtype, tf.int64]
        values, lengths = tf.numpy_function(self._read, [index], types, stateful=False)
        values.set_shape([None])
        lengths.set_shape([None])
        return tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)

    def pieces(self) -> Iterator[bytes]:
        """The bytes of all tokens, some at a time; of words with a NUL between any two."""
        if self.dtype != tf.string:
            for start in range(0, self._file.size, _AT_ONCE):
                yield self._file.read(start, min(start + _AT_ONCE, self._file.size))
            return
        filled = np.flatnonzero(np.diff(self.row_splits))
        for number, text in enumerate(filled.tolist()):
            yield (b"\0" if number else b"") + self._content(text)

    def _content(self, text: int) -> bytes:
        return self._file.read(int(self._ends[text]), int(self._ends[text + 1]))

    def _read(self, index: np.ndarray) -> list[np.ndarray]:
        contents = [self._content(text) for text in index.tolist()]
        lengths = self.row_splits[index + 1] - self.row_splits[index]
        if self.dtype != tf.string:
            return [np.frombuffer(b"".join(contents), self.dtype.as_numpy_dtype), lengths]
        filled = [content for content, length in zip(contents, lengths, strict=True) if length]
        words = b"\0".join(filled).split(b"\0") if filled else []
        return [np.array(words, object), lengths]


Tokens = tf.RaggedTensor | TokensOnDisk


class TokenWriter:
    """Gathers tokens of texts, `[texts, (tokens)]`, which come some texts at a time.

    Args:
        memory_mb: megabytes beyond which they go to a file.
    """

    def __init__(self, memory_mb: float):
        self._limit, self._size = memory_mb * 1e6, 0
        self._parts: list[tf.RaggedTensor] = []
        self._file: UnnamedFile | None = None
        self._bytes: list[np.ndarray] = []
        self._lengths: list[np.ndarray] = []

    def add(self, part: tf.RaggedTensor) -> None:
        """Adds texts.

        Raises:
            ArtifactError: the disk is full.
        """
        self._parts.append(part)
        self._dtype = part.dtype
        if self._file is None:
            self._size += _size_of(part)
            if self._size <= self._limit:
                return
            self._file = UnnamedFile()
        for waiting in self._parts:
            self._write(waiting)
        self._parts = []

    def finished(self) -> Tokens:
        """All of them."""
        if self._file is None:
            return tf.concat(self._parts, axis=0)
        ends, row_splits = (
            np.cumsum(np.concatenate([[0], *sizes])) for sizes in (self._bytes, self._lengths)
        )
        return TokensOnDisk(self._file, ends, row_splits, self._dtype)

    def _write(self, part: tf.RaggedTensor) -> None:
        lengths, values = part.row_lengths().numpy(), part.values.numpy()
        if part.dtype == tf.string:
            rows = [b"\0".join(words) for words in np.split(values, part.row_splits.numpy()[1:-1])]
            sizes, content = np.array([len(row) for row in rows], np.int64), b"".join(rows)
        else:
            sizes, content = lengths * values.itemsize, values.tobytes()
        self._file.append(content)
        self._bytes.append(sizes)
        self._lengths.append(lengths)


def rows_at(tokens: Tokens, index: tf.Tensor) -> tf.RaggedTensor:
    """The texts at `index` `[batch]`: `[batch, (tokens)]`, words of sentences `[batch, …]` too."""
    return tokens.rows(index) if isinstance(tokens, TokensOnDisk) else tf.gather(tokens, index)


def token_count(tokens: Tokens) -> int:
    """The number of all tokens."""
    if isinstance(tokens, TokensOnDisk):
        return int(tokens.row_splits[-1])
    return int(tf.size(tokens.flat_values))


def token_bytes(tokens: Tokens) -> Iterator[bytes]:
    """What a digest of tokens is made of, the same in memory and on disk.

    Of the tokens and of each level of rows their shape and their bytes.
    """
    if isinstance(tokens, TokensOnDisk):
        yield _shape(tokens.row_splits[-1:])
        yield from tokens.pieces()
        yield _shape(tokens.row_splits.shape)
        yield tokens.row_splits.tobytes()
        return
    for tensor in tf.nest.flatten(tokens, expand_composites=True):
        values = tensor.numpy()
        yield _shape(values.shape)
        # Words, which contain no NUL (`prepare` refuses it), or ids.
        yield b"\0".join(values) if values.dtype == object else values.tobytes()


def _shape(sizes) -> bytes:
    return f"{tuple(map(int, sizes))} ".encode("ascii")


def _size_of(part: tf.RaggedTensor) -> int:
    if part.dtype == tf.string:
        return int(tf.reduce_sum(tf.strings.length(part.flat_values)))
    return int(tf.size(part.flat_values)) * part.dtype.size
