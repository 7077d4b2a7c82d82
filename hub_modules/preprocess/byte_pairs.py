"""Byte-pair encoding in the graph: a word's bytes are merged pair by pair, as GPT-2's."""

import functools
from collections.abc import Mapping, Sequence

import tensorflow as tf
import tensorflow_text

from hub_modules.errors import ArtifactError

# Longer words are merged in parts of this many bytes: each merge takes a pass over the longest.
LONGEST_PART = 256
# White space as in Unicode; RE2's \s is that of ASCII.
BLANK = r"[\t-\r \x{85}\p{Z}]"
_NO_BLANK = r"[^\t-\r \x{85}\p{Z}]"
# A code point that is no character and never will be. RE2 cannot look ahead: the last blank before
# a word, which belongs to the word, is first cut off from the blanks before it.
CUT = "\ufffe"
_OTHER = rf"[^\t-\r \x{{85}}\p{{Z}}\p{{L}}\p{{N}}{CUT}]"
_WORDS = rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+| ?{_OTHER}+|{BLANK}+"
_NO_RANK = 2**62


class BytePairTokenizer(tf.Module):
    """Byte-level BPE: texts → ids of pieces.

    A text is split into words with the blank before them, letters, digits and other characters
    apart. Each word's bytes are then merged: always the pair that comes first among `merges`, the
    leftmost where it is there twice. Nothing is remembered from call to call, so that a served
    model does not grow.

    Args:
        vocabulary: piece → id, the bytes written as GPT-2 does (`Ġ` is a blank).
        merges: pairs of pieces, `"Ġ t"`, the most important first.
        unknown_id: for a byte that the vocabulary lacks.
        normal_form: of Unicode, which a text is brought to before: "NFC"; empty: none.

    Raises:
        ArtifactError: a merge is no pair of pieces, or one of its pieces is not in the vocabulary.

    Source: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units";
    Radford et al. 2019, section 2.2.
    """

    def __init__(
        self,
        vocabulary: Mapping[str, int],
        merges: Sequence[str],
        unknown_id: int,
        normal_form: str = "",
    ):
        super().__init__(name="byte_pairs")
        self._normal_form = normal_form
        lefts, rights, merged = _merge_ids(vocabulary, merges)
        # On the CPU, where tokenizers run: tables must not be copied at each call.
        with tf.device("CPU:0"):
            self._factor = tf.constant(max(vocabulary.values(), default=0) + 1, tf.int64)
            self._bytes = tf.constant(
                [vocabulary.get(sign, unknown_id) for sign in byte_signs()], tf.int64
            )
            self._merged = tf.constant([*merged, 0], tf.int64)
            keys = tf.constant(lefts, tf.int64) * self._factor + tf.constant(rights, tf.int64)
            # A table must not be empty: −1 is no pair of pieces.
            rows = tf.lookup.KeyValueTensorInitializer(
                tf.concat([keys, [-1]], axis=0),
                tf.constant([*range(len(merged)), _NO_RANK], tf.int64),
            )
            self._ranks = tf.lookup.StaticHashTable(rows, _NO_RANK)

    def normalize(self, texts: tf.Tensor) -> tf.Tensor:
        """`[batch] string` → the same in the normal form, else as they are."""
        if not self._normal_form:
            return texts
        return tensorflow_text.normalize_utf8(texts, self._normal_form)

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → ids of pieces `[batch, (pieces)] int32`."""
        return self.tokenize_normalized(self.normalize(texts))

    def tokenize_normalized(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """As `tokenize`, of texts that are normalized."""
        words = self._words(texts)
        distinct, number = tf.unique(words.flat_values)
        pieces = self._merge(distinct)
        return words.with_flat_values(tf.gather(pieces, number)).merge_dims(1, 2)

    def _words(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → words with the blank before them `[batch, (words)] string`."""
        cut = tf.strings.regex_replace(texts, f"({BLANK}+)({BLANK})({_NO_BLANK})", rf"\1{CUT}\2\3")
        return tensorflow_text.regex_split(cut, f"{CUT}|{_WORDS}", _WORDS)

    def _merge(self, words: tf.Tensor) -> tf.RaggedTensor:
        """Distinct words `[words] string` → their pieces `[words, (pieces)] int32`."""
        content = tf.strings.bytes_split(words)
        signs = tf.reshape(tf.io.decode_raw(content.flat_values, tf.uint8), [-1])
        ids = content.with_flat_values(tf.gather(self._bytes, tf.cast(signs, tf.int32)))
        parts = _in_parts(ids)
        done = tf.while_loop(self._can_merge, self._merge_once, [parts.to_tensor(-1), True])[0]
        kept = tf.RaggedTensor.from_tensor(tf.cast(done, tf.int32), padding=-1)
        splits = tf.gather(kept.row_splits, _first_parts(ids))
        return tf.RaggedTensor.from_row_splits(kept.values, splits)

    def _can_merge(self, ids, any_merged):
        return tf.logical_and(any_merged, tf.shape(ids)[1] > 1)

    def _merge_once(self, ids, any_merged):
        """Merges the first pair of each row; `[rows, time]` with −1 at the end of a row."""
        left, right = ids[:, :-1], ids[:, 1:]
        known = self._ranks.lookup(left * self._factor + right)
        rank = tf.where(right >= 0, known, _NO_RANK)
        place = tf.argmin(rank, axis=1)[:, None]
        best = tf.reduce_min(rank, axis=1)[:, None]
        merges = best < _NO_RANK
        time = tf.shape(ids, out_type=tf.int64)[1]
        positions = tf.range(time)[None, :]
        new = tf.gather(self._merged, tf.where(merges, best, 0))
        shifted = tf.concat(
            [ids[:, 1:], tf.fill([tf.shape(ids)[0], 1], tf.constant(-1, tf.int64))], 1
        )
        after = tf.where(positions > place, shifted, tf.where(positions == place, new, ids))
        ids = tf.where(merges, after, ids)
        longest = tf.reduce_max(tf.math.count_nonzero(ids >= 0, axis=1))
        return tf.ensure_shape(ids[:, :longest], [None, None]), tf.reduce_any(merges)


def byte_signs() -> list[str]:
    """The character that stands for each byte in a vocabulary: itself where it can be seen."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return [chr(byte) if byte in seen else chr(256 + hidden.index(byte)) for byte in range(256)]


@functools.cache
def _byte_of_sign() -> dict[str, int]:
    return {sign: number for number, sign in enumerate(byte_signs())}


def piece_bytes(piece: str) -> bytes:
    """The bytes of a text that a piece of a vocabulary stands for."""
    bytes_of = _byte_of_sign()
    if all(sign in bytes_of for sign in piece):
        return bytes(bytes_of[sign] for sign in piece)
    return piece.encode("utf-8")  # a token that was added to the vocabulary


def _in_parts(ids: tf.RaggedTensor) -> tf.RaggedTensor:
    counts = (ids.row_lengths() + LONGEST_PART - 1) // LONGEST_PART
    within = tf.ragged.range(counts).values
    word = tf.repeat(tf.range(ids.nrows()), counts)
    starts = tf.gather(ids.row_starts(), word) + within * LONGEST_PART
    return tf.RaggedTensor.from_row_splits(
        ids.values, tf.concat([starts, ids.row_splits[-1:]], axis=0)
    )


def _first_parts(ids: tf.RaggedTensor) -> tf.Tensor:
    """Index of the first part of each word, and the number of all parts."""
    counts = (ids.row_lengths() + LONGEST_PART - 1) // LONGEST_PART
    return tf.concat([[0], tf.cumsum(counts)], axis=0)


def _merge_ids(vocabulary: Mapping[str, int], merges: Sequence[str]) -> tuple[list, list, list]:
    lefts, rights, merged, seen = [], [], [], set()
    for number, merge in enumerate(merges, start=1):
        pair = merge.split(" ")
        pieces = [*pair, "".join(pair)]
        missing = [piece for piece in pieces if piece not in vocabulary]
        if len(pair) != 2 or missing:
            raise ArtifactError(
                f"merges: {number}: expected two pieces of the vocabulary whose sum is one too, "
                f"got {merge!r}; take the files that belong together"
            )
        if merge not in seen:
            seen.add(merge)
            for ids, piece in zip((lefts, rights, merged), pieces, strict=True):
                ids.append(vocabulary[piece])
    return lefts, rights, merged
