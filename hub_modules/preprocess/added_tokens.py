"""Tokens that were added to a vocabulary: found in a text before it is split into words."""

import re
from collections.abc import Callable, Mapping

import tensorflow as tf
import tensorflow_text

from hub_modules.errors import ArtifactError

# From 25,000 on RE2 runs out of memory: it is slow then, and says so for each text.
LONGEST_PATTERN = 20_000

Pieces = Callable[[tf.Tensor], tf.RaggedTensor]


class AddedTokens(tf.Module):
    """Finds added tokens, the longest where several begin, and leaves the rest to a tokenizer.

    Args:
        as_written: token → id, of those that are found in the text as it is given.
        normalized: of those that are found after the tokenizer's normalization.

    Raises:
        ArtifactError: the tokens are longer than `LONGEST_PATTERN` together.

    Source: HuggingFace tokenizers, `tokenizer/added_vocabulary.rs`.
    """

    def __init__(self, as_written: Mapping[str, int], normalized: Mapping[str, int]):
        super().__init__(name="added_tokens")
        self._as_written = _Found(as_written) if as_written else None
        self._normalized = _Found(normalized) if normalized else None

    def tokenize(
        self, texts: tf.Tensor, normalize: Callable[[tf.Tensor], tf.Tensor], pieces: Pieces
    ) -> tf.RaggedTensor:
        """`[batch] string` → ids `[batch, (pieces)] int32`.

        Args:
            normalize: texts → texts.
            pieces: normalized texts → ids.
        """

        def normalized(parts: tf.Tensor) -> tf.RaggedTensor:
            return _around(self._normalized, normalize(parts), pieces)

        return _around(self._as_written, texts, normalized)


class _Found(tf.Module):
    """Tokens as a regular expression and as a table."""

    def __init__(self, ids: Mapping[str, int]):
        super().__init__(name="found")
        # RE2 takes the first of several that fit.
        self.pattern = "|".join(map(re.escape, sorted(ids, key=len, reverse=True)))
        if len(self.pattern) > LONGEST_PATTERN:
            raise ArtifactError(
                f"added tokens: expected at most {LONGEST_PATTERN:,} characters together, got "
                f"{len(self.pattern):,} of {len(ids):,} tokens; remove those that your texts lack"
            )
        # On the CPU, where tokenizers run: tables must not be copied at each call.
        with tf.device("CPU:0"):
            rows = tf.lookup.KeyValueTensorInitializer(
                tf.constant(list(ids)), tf.constant(list(ids.values()), tf.int32)
            )
            self.table = tf.lookup.StaticHashTable(rows, -1)


def _around(finder: _Found | None, texts: tf.Tensor, pieces: Pieces) -> tf.RaggedTensor:
    """The ids of the added tokens, and between them those of the pieces of the other parts."""
    if finder is None:
        return pieces(texts)
    parts = tensorflow_text.regex_split(texts, finder.pattern, finder.pattern)
    ids = finder.table.lookup(parts.values)
    is_token = ids >= 0
    tokens = tf.RaggedTensor.from_tensor(tf.boolean_mask(ids, is_token)[:, None])
    others = pieces(tf.boolean_mask(parts.values, ~is_token))
    rows = tf.concat([tokens, tf.cast(others, tf.int32)], axis=0)
    token, other = tf.cast(is_token, tf.int64), tf.cast(~is_token, tf.int64)
    place = tf.where(
        is_token,
        tf.cumsum(token, exclusive=True),
        tf.reduce_sum(token) + tf.cumsum(other, exclusive=True),
    )
    return parts.with_values(tf.gather(rows, place)).merge_dims(1, 2)
