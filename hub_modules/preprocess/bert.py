"""BERT's inputs: WordPiece ids, packed segments, and the position of each word's first piece."""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence

import tensorflow as tf
import tensorflow_text

from hub_modules.errors import ArtifactError
from hub_modules.native.untracked import Untracked
from hub_modules.preprocess.added_tokens import AddedTokens
from hub_modules.preprocess.whole_texts import pack_texts
from hub_modules.preprocess.word_pieces import UNKNOWN, WordPieceTokenizer, WordRules

SPECIAL_TOKENS = {
    "padding_id": "[PAD]",
    "start_of_sequence_id": "[CLS]",
    "end_of_segment_id": "[SEP]",
    "mask_id": "[MASK]",
}
MPNET_TOKENS = {
    "padding_id": "<pad>",
    "start_of_sequence_id": "<s>",
    "end_of_segment_id": "</s>",
    "mask_id": "<mask>",
}
CONTINUATION = "##"


class BertPreprocessor(tf.Module):
    """Text → WordPiece ids → BERT's inputs; the vocabulary is exported with it.

    Cleaning, lower-casing (NFKD, accents stripped) and splitting are tensorflow-text's; a word of
    more than 100 bytes, or that is no sequence of word pieces, is one `[UNK]`.

    Args:
        vocabulary: word pieces in the order of their ids.
        lower_case: whether the vocabulary is lower-cased.
        rules: how a text becomes words, in place of all this.
        added: tokens that are found before; only beside `rules`.
        special: the pieces of `SPECIAL_TOKENS`, where they have other names.
        doubled: see `pack_segments`.

    Raises:
        ArtifactError: a piece is empty or a duplicate, or a special token is missing.

    Source: Devlin et al. 2019, section 3; Wu et al. 2016, section 4.1 (WordPiece).
    """

    splits_at_punctuation = True

    def __init__(
        self,
        vocabulary: Sequence[str],
        lower_case: bool = False,
        rules: WordRules | None = None,
        added: AddedTokens | None = None,
        special: Mapping[str, str] = SPECIAL_TOKENS,
        doubled: bool = False,
    ):
        super().__init__(name="bert_preprocessor")
        vocabulary = list(vocabulary)
        _check_vocabulary(vocabulary, special)
        ids = {piece: number for number, piece in enumerate(vocabulary)}
        special_ids = {name: ids[piece] for name, piece in special.items() if piece in ids}
        self.special_token_ids = {"vocab_size": len(vocabulary), **special_ids}
        self.doubled = doubled
        self.vocabulary = Untracked(vocabulary)
        # Of tensorflow-text's own rules; None: of others.
        self.lower_case = lower_case if rules is None else None
        self.unknown_id = ids[UNKNOWN]
        # On the CPU, where the tokenizer runs: its tables must not be copied at each call.
        with tf.device("CPU:0"):
            self._tokenizer = _tokenizer(vocabulary, lower_case, rules, added)
            self._continues = tf.constant([p.startswith(CONTINUATION) for p in vocabulary])

    def __call__(self, texts, max_length: int | None = None, truncate: bool = False) -> dict:
        """Texts → the encoder's inputs, tokenized and packed: see `pack_texts`."""
        return pack_texts(self, texts, max_length, truncate)

    def special_tokens(self, num_segments: int) -> int:
        """Number of special tokens in a row of `num_segments` segments."""
        return num_segments + 1 + (num_segments - 1 if self.doubled else 0)

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → piece ids `[batch, (pieces)] int32`, without special tokens."""
        return self._tokenizer.tokenize(texts)

    def tokenize_words(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """`[batch, (words)] string` → `[batch, (words), (pieces)] int32`.

        A word without pieces (white space, control characters only) becomes `[UNK]`.
        """
        return words.with_values(fill_empty(self.tokenize(words.values), self.unknown_id))

    def group_words(self, pieces: tf.RaggedTensor) -> tf.RaggedTensor:
        """Pieces grouped by word: `[batch, (pieces)]` → `[batch, (words), (pieces)]`."""
        starts = tf.logical_not(tf.gather(self._continues, pieces.values))
        firsts = tf.where(starts)[:, 0]
        total = tf.size(starts, out_type=tf.int64)
        words = tf.RaggedTensor.from_row_splits(pieces.values, tf.concat([firsts, [total]], axis=0))
        count = tf.concat([[0], tf.cumsum(tf.cast(starts, tf.int64))], axis=0)
        return tf.RaggedTensor.from_row_splits(words, tf.gather(count, pieces.row_splits))

    def pack(self, segments: list[tf.RaggedTensor], length: int | None = None) -> dict:
        """`[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`: see `pack_segments`."""
        return pack_segments(segments, self.special_token_ids, length, self.doubled)

    def pack_words(self, word_pieces: tf.RaggedTensor) -> dict:
        """As `pack`, with the position of each word's first piece: see `pack_word_pieces`."""
        return pack_word_pieces(word_pieces, self.special_token_ids)


def pack_segments(
    segments: list[tf.RaggedTensor],
    special: dict[str, int],
    length: int | None = None,
    doubled: bool = False,
) -> dict:
    """Joins segments to BERT's inputs, padded to the longest row of the batch or to `length`.

    Shapes: segments `[batch, (pieces)] int32` → `input_word_ids`, `input_mask` (0 = padding),
    `input_type_ids` (number of the segment, its `[SEP]` included), each `[batch, time] int32`.

    Args:
        doubled: `<s> a </s></s> b </s>`, RoBERTa's row for a pair, else `[CLS] a [SEP] b [SEP]`.
            The second `</s>` has the type 2: it belongs to neither text.

    Raises:
        tf.errors.InvalidArgumentError: a row is longer than `length`.
    """
    if doubled and len(segments) == 2:
        return _pack_doubled(*segments, special, length)
    batch = tf.shape(segments[0].row_lengths())[0]

    def column(piece):
        return tf.RaggedTensor.from_tensor(tf.fill([batch, 1], piece))

    parts, starts, end = [column(special["start_of_sequence_id"])], [], 1
    for segment in segments:
        parts += [segment, column(special["end_of_segment_id"])]
        starts.append(end)
        end += tf.cast(segment.row_lengths(), tf.int32) + 1
    time = tf.reduce_max(tf.concat([end, [len(segments) + 1]], axis=0))
    if length is not None:
        time = _checked_length(length, time)
    positions = tf.range(time)[None, :]
    mask = tf.cast(positions < end[:, None], tf.int32)
    types = sum(
        (tf.cast(positions >= start[:, None], tf.int32) for start in starts[1:]),
        start=tf.zeros_like(mask),
    )
    ids = tf.concat(parts, axis=1).to_tensor(special["padding_id"], shape=tf.stack([batch, time]))
    packed = {"input_word_ids": ids, "input_mask": mask, "input_type_ids": types * mask}
    width = length if isinstance(length, int) else None
    return {name: tf.ensure_shape(value, [None, width]) for name, value in packed.items()}


def _pack_doubled(first, second, special: dict[str, int], length: int | None) -> dict:
    end = tf.cast(special["end_of_segment_id"], second.dtype)
    between = tf.RaggedTensor.from_tensor(tf.fill([second.nrows(), 1], end))
    packed = pack_segments([first, tf.concat([between, second], axis=1)], special, length)
    types = packed["input_type_ids"]
    doubles = tf.cast((types == 1) & (tf.cumsum(types, axis=1) == 1), types.dtype)
    return packed | {"input_type_ids": types + doubles}


def pack_word_pieces(word_pieces: tf.RaggedTensor, special: dict[str, int]) -> dict:
    """BERT's inputs for sentences of words, and `first_piece` `[batch, words] int32`.

    `first_piece` is the position of a word's first piece in the packed row, −1 at padding.
    Every word must have a piece.

    Shapes: word_pieces `[batch, (words), (pieces)] int32`.
    """
    piece_splits = word_pieces.values.row_splits
    sentence_starts = tf.gather(piece_splits, word_pieces.row_starts())
    offsets = piece_splits[:-1] - tf.gather(sentence_starts, word_pieces.value_rowids())
    return pack_words_at(word_pieces.merge_dims(1, 2), word_pieces.with_values(offsets), special)


def pack_words_at(
    pieces: tf.RaggedTensor, offsets: tf.RaggedTensor, special: dict[str, int]
) -> dict:
    """As `pack_word_pieces`, for words at any position of their row.

    Shapes: pieces `[batch, (pieces)] int32`; offsets `[batch, (words)]`, index of each word's first
    piece in its row.
    """
    # 1 is the position after [CLS].
    first_piece = offsets.with_values(tf.cast(offsets.values, tf.int32) + 1).to_tensor(-1)
    return {**pack_segments([pieces], special), "first_piece": first_piece}


def fill_empty(pieces: tf.RaggedTensor, filler: int) -> tf.RaggedTensor:
    """Each empty row of `[words, (pieces)]` becomes the one piece `filler`."""
    missing = tf.cast(pieces.row_lengths() == 0, tf.int64)
    fillers = tf.fill([tf.reduce_sum(missing)], tf.cast(filler, pieces.dtype))
    return tf.concat([pieces, tf.RaggedTensor.from_row_lengths(fillers, missing)], axis=1)


def _checked_length(length, longest: tf.Tensor) -> tf.Tensor:
    length = tf.cast(length, tf.int32)
    message = "pack: a row with its special tokens is longer than `length`; truncate it first"
    with tf.control_dependencies([tf.debugging.assert_less_equal(longest, length, message)]):
        return tf.identity(length)


def _tokenizer(vocabulary: list[str], lower_case: bool, rules: WordRules | None, added):
    try:
        if rules is not None:
            return WordPieceTokenizer(vocabulary, rules, added or AddedTokens({}, {}))
        # Constants of a graph are not shared with another.
        make = _shared_tokenizer if tf.executing_eagerly() else _shared_tokenizer.__wrapped__
        return make(tuple(vocabulary), lower_case)
    except (RuntimeError, ValueError) as error:
        raise ArtifactError(
            f"vocabulary of {len(vocabulary)} word pieces: tensorflow-text cannot use it "
            f"({error}); take the vocabulary that belongs to the weights"
        ) from error


@functools.lru_cache(maxsize=4)
def _shared_tokenizer(vocabulary: tuple[str, ...], lower_case: bool):
    """Made once for each vocabulary: that of BERT takes as long as to read its weights."""
    return tensorflow_text.FastBertTokenizer(
        vocab=list(vocabulary),
        lower_case_nfd_strip_accents=lower_case,
        unknown_token=UNKNOWN,
        token_out_type=tf.int32,
        support_detokenization=False,
    )


def _check_vocabulary(vocabulary: list[str], special: Mapping[str, str]) -> None:
    where = f"vocabulary of {len(vocabulary)} word pieces"
    remedy = "take the vocabulary that belongs to the weights, unchanged"
    if "" in vocabulary:
        line = vocabulary.index("") + 1
        raise ArtifactError(f"{where}: expected a piece in line {line}, got an empty one; {remedy}")
    piece, count = Counter(vocabulary).most_common(1)[0] if vocabulary else ("", 0)
    if count > 1:
        lines = [number for number, other in enumerate(vocabulary, 1) if other == piece][:2]
        raise ArtifactError(
            f"{where}: expected each piece once, got {piece!r} in lines {lines[0]} and {lines[1]}; "
            f"{remedy}"
        )
    needed = [piece for name, piece in special.items() if name != "mask_id"] + [UNKNOWN]
    missing = [token for token in needed if token not in vocabulary]
    if missing:
        raise ArtifactError(f"{where}: {', '.join(missing)} missing; {remedy}")
