"""Lower case in the graph that is the same in every locale."""

import tensorflow as tf


def lower_case_utf8(texts: tf.Tensor) -> tf.Tensor:
    """`[…] string` → the same in lower case.

    TensorFlow's own follows the locale of the process: in a Turkish one `I` becomes `ı`. Without an
    encoding it changes ASCII's letters alone, in any locale.
    """
    texts = tf.strings.regex_replace(tf.strings.lower(texts), "İ", "i\u0307")
    return tf.strings.lower(texts, encoding="utf-8")
