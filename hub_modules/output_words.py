"""The vocabulary of an ELMo's output layer: from character ids to word ids."""

import numpy as np
import tensorflow as tf

from hub_modules.preprocess.elmo import CHARACTERS_PER_WORD, character_ids
from hub_modules.sources.files.words import BEGIN, END, UNKNOWN, check_words

_CHARACTERS = 262
_HASH_SEED = 20
# 50 summands below it stay below 2^62.
_HASH_BOUND = 2**56


class OutputWords:
    """Character ids → ids of output words, in the graph and on any device.

    A word's characters are hashed (the sum of one fixed random number for each character at each
    position) and looked up in the sorted hashes of the vocabulary; hashes have about 60 bits, so
    that collisions do not occur in practice. An unknown word is `<UNK>`. Of words with the same
    first 48 bytes, ELMo's limit, the first and most frequent one is returned.

    Shapes: character_ids `[batch, time, 50] int32` → `[batch, time] int32`; ids at padding are
    undefined.

    Args:
        words: by id; with `<S>`, `</S>` and `<UNK>`.

    Raises:
        ArtifactError: a word is empty or a duplicate, or one of the three is missing.
    """

    def __init__(self, words: list[str]):
        self.words = check_words(list(words), f"{len(words)} output words")
        self.begin, self.end = self.words.index(BEGIN), self.words.index(END)
        unknown = self.words.index(UNKNOWN)
        numbers = np.random.default_rng(_HASH_SEED).integers(
            0, _HASH_BOUND, CHARACTERS_PER_WORD * _CHARACTERS
        )
        with tf.device("CPU:0"):
            spelled = character_ids(tf.constant(self.words)).numpy()
        offsets = np.arange(CHARACTERS_PER_WORD) * _CHARACTERS
        hashes, first = np.unique(numbers[spelled + offsets].sum(axis=1), return_index=True)
        # The boundaries are no words: "<S>" in a text is unknown.
        first[np.isin(first, [self.begin, self.end])] = unknown
        with tf.init_scope():
            self._numbers = tf.constant(numbers)
            self._offsets = tf.constant(offsets, tf.int32)
            self._hashes = tf.constant(hashes)
            self._ids = tf.constant(first, tf.int32)
            self._unknown = tf.constant(unknown, tf.int32)

    def ids(self, characters):
        """The id of each word of a batch."""
        characters = tf.cast(characters, tf.int32)
        hashes = tf.reduce_sum(tf.gather(self._numbers, characters + self._offsets), axis=-1)
        shape = tf.shape(hashes)
        flat = tf.reshape(hashes, [-1])
        last = tf.shape(self._hashes)[0] - 1
        nearest = tf.minimum(tf.searchsorted(self._hashes, flat), last)
        known = tf.gather(self._hashes, nearest) == flat
        return tf.reshape(tf.where(known, tf.gather(self._ids, nearest), self._unknown), shape)
