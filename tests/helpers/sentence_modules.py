"""Small sentence modules in TF Hub's reusable format, and what they compute in NumPy."""

from pathlib import Path

import numpy as np
import tensorflow as tf

WORDS = ["a", "the", "film", "good", "dull", "man", "sings", "dog"]
BUCKETS, WIDTH = 3, 4
TABLE = np.random.default_rng(0).normal(size=(len(WORDS) + BUCKETS, WIDTH)).astype("float32")
_TEXTS = [tf.TensorSpec([None], tf.string, name="texts")]


class HashedWords(tf.__internal__.tracking.AutoTrackable):
    """As NNLM: words at blanks, a vocabulary in an asset, hash buckets for other words, and the sum
    of a text's vectors over the root of their number."""

    def __init__(self, vocabulary: Path, trainable: bool = True):
        vocabulary.write_text("".join(f"{word}\n" for word in WORDS), "utf-8")
        lines = tf.lookup.TextFileInitializer(
            str(vocabulary),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )
        self.table = tf.lookup.StaticVocabularyTable(lines, BUCKETS)
        self.embeddings = tf.Variable(TABLE, name="embeddings", trainable=trainable)
        self.variables = [self.embeddings]
        self.trainable_variables = self.variables if trainable else []

    @tf.function(input_signature=_TEXTS)
    def __call__(self, texts):
        return self.vectors(texts)

    def vectors(self, texts):
        words = tf.strings.split(texts)
        states = words.with_values(tf.gather(self.embeddings, self.table.lookup(words.values)))
        count = tf.cast(tf.maximum(words.row_lengths(), 1), tf.float32)
        return tf.reduce_sum(states, axis=1) / tf.sqrt(count)[:, None]


class WithModes(HashedWords):
    """A dict with one vector among others, two modes, and dropout of everything in training."""

    @tf.function
    def __call__(self, texts, training=False):
        vectors = self.vectors(texts)
        if training:
            vectors *= 0.0
        return {"default": vectors, "other": vectors + 1.0, "length": tf.strings.length(texts)}


class WithDropout(HashedWords):
    """Two modes, and in training dropout of a half, without a seed."""

    @tf.function
    def __call__(self, texts, training=False):
        vectors = self.vectors(texts)
        if not training:
            return vectors
        # tf.nn.dropout would have a seed where another test has set a global one.
        drawn = tf.raw_ops.RandomUniform(shape=tf.shape(vectors), dtype=tf.float32)
        return vectors * tf.cast(drawn < 0.5, tf.float32) * 2.0


class WithoutGradient(HashedWords):
    """Has a trainable variable, whose gradient its program stops."""

    @tf.function(input_signature=_TEXTS)
    def __call__(self, texts):
        return tf.stop_gradient(self.vectors(texts))


class OpenShape(HashedWords):
    """Takes and returns what its signature gives no shape of."""

    @tf.function(input_signature=[tf.TensorSpec(None, tf.string)])
    def __call__(self, texts):
        vectors = self.vectors(tf.reshape(texts, [-1]))
        shape = tf.concat(
            [tf.shape(vectors), tf.ones([tf.random.uniform([], 0, 1, tf.int32)], tf.int32)], 0
        )
        return tf.reshape(vectors, shape)


class Lengths(HashedWords):
    """Strings in, but no vectors out."""

    @tf.function(input_signature=_TEXTS)
    def __call__(self, texts):
        return {"length": tf.strings.length(texts), "states": tf.zeros([tf.size(texts), 2, 3])}


class Wrong(HashedWords):
    """Says nothing of its shape, and returns one vector for all texts together."""

    @tf.function(input_signature=_TEXTS)
    def __call__(self, texts):
        # The number of dimensions is not known before it runs.
        vectors = self.vectors(texts)
        return tf.reshape(
            tf.reduce_sum(vectors), tf.ones([tf.random.uniform([], 3, 4, tf.int32)], tf.int32)
        )


def write_sentence_module(folder: Path, kind: type = HashedWords, **options) -> Path:
    """Saves a module; returns its folder."""
    vocabulary = folder.parent / f"{folder.name}_tokens.txt"
    module = kind(vocabulary, **options)
    if kind in (WithModes, WithDropout):
        for training in (False, True):
            module.__call__.get_concrete_function(*_TEXTS, training=training)
    tf.saved_model.save(module, str(folder))
    vocabulary.unlink()  # the module has its own copy
    return folder


def expected_vectors(texts: list[str], table: np.ndarray = TABLE) -> np.ndarray:
    """`[texts, width]` of `HashedWords`, for texts of known words."""
    rows = []
    for text in texts:
        ids = [WORDS.index(word) for word in text.split()]
        rows.append(table[ids].sum(axis=0) / np.sqrt(max(len(ids), 1)))
    return np.array(rows, "float32").reshape(-1, table.shape[1])
