"""The words of a text with their offsets in it, in the graph: what answers are made of."""

import tensorflow as tf
import tensorflow_text

# As BERT's basic tokenizer, so that a word's pieces are those that it has within its text.
BLANK = r"[\s\p{Z}]+"
_CHINESE = r"\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{F900}-\x{FAFF}\x{20000}-\x{2FA1F}"
ALONE = rf"[!-/:-@\[-`{{-~\p{{P}}{_CHINESE}]"


def answer_words(texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
    """Words, split at white space and around punctuation and Chinese characters, and where each is.

    Shapes: `[texts] string` → words `[texts, (words)] string`; the offset of each word's first
    character and of the character after its last, `[texts, (words)] int32` each, in Unicode code
    points.
    """
    words, first, end = tensorflow_text.regex_split_with_offsets(texts, f"{BLANK}|{ALONE}", ALONE)
    # The first byte of every character, with the texts one behind the other.
    characters = tf.strings.unicode_decode_with_offsets(texts, "UTF-8")[1]
    sizes = tf.cast(tf.strings.length(texts), tf.int64) + 1
    before = tf.cumsum(sizes, exclusive=True)
    bytes_before = characters.values + tf.gather(before, characters.value_rowids())
    text_of_word = words.value_rowids()

    def in_characters(offsets: tf.RaggedTensor) -> tf.RaggedTensor:
        places = tf.searchsorted(bytes_before, offsets.values + tf.gather(before, text_of_word))
        places -= tf.cast(tf.gather(characters.row_starts(), text_of_word), places.dtype)
        return words.with_values(places)

    return words, in_characters(first), in_characters(end)
