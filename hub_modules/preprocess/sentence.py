"""The inputs of a sentence module: texts as they are. The module reads, splits and looks up."""

import tensorflow as tf

from hub_modules.errors import ConfigError
from hub_modules.preprocess.segments import one_segment
from hub_modules.preprocess.whole_texts import pack_texts


class SentencePreprocessor(tf.Module):
    """Texts → `text` `[batch] string`, unchanged.

    A text is one token, so that it is never too long and never cut.
    """

    splits_at_punctuation = False

    def __init__(self):
        super().__init__(name="sentence_preprocessor")

    def __call__(self, texts, max_length: int | None = None, truncate: bool = False) -> dict:
        """Texts → the encoder's inputs: see `pack_texts`."""
        return pack_texts(self, texts, max_length, truncate)

    def special_tokens(self, num_segments: int) -> int:
        """0: there are none."""
        return 0

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → the same as `[batch, (1)]`."""
        texts = tf.convert_to_tensor(texts, tf.string)
        return tf.RaggedTensor.from_tensor(texts[:, None], ragged_rank=1)

    def tokenize_words(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """Not possible.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            "encoder: expected one that has a state for each word, got a sentence module, which "
            "has one vector for a whole text; for tagging take a BERT, an ELMo or word vectors"
        )

    def pack_words(self, word_tokens: tf.RaggedTensor) -> dict:
        """Not possible.

        Raises:
            ConfigError: always.
        """
        return self.tokenize_words(word_tokens)

    def pack(self, segments: list[tf.RaggedTensor], length: int | None = None) -> dict:
        """One segment `[batch, (1)]` → `text` `[batch] string`.

        Raises:
            ConfigError: more than one segment; the texts of a pair are encoded separately.
        """
        texts, _ = one_segment(segments, length, "a sentence module")
        return {"text": texts.to_tensor("", shape=[None, 1])[:, 0]}
