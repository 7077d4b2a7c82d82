"""The losses of contrastive tuning, on the cosines of pairs."""

import tensorflow as tf

from tf_adapt.layers.global_mean import global_mean

# In CoSENT's exponent, as in its first publication and in sentence-transformers.
SCALE = 20.0


def cosine_error(equal, cosines):
    """Mean of `(cosine − equal)²`.

    Shapes: equal (1 or 0) and cosines `[batch]` → scalar.

    Source: Reimers and Gurevych 2019, section 3 (regression objective).
    """
    errors = tf.square(cosines - tf.cast(equal, tf.float32))
    return global_mean(errors, tf.ones_like(errors, dtype=tf.bool))


def cosent(scores, cosines):
    """`log (1 + Σ exp 20 (c_j − c_i))`, over all i, j of the batch with score i above score j.

    Shapes: scores and cosines `[batch]` → scalar.

    Source: Su 2022, "CoSENT".
    """
    scores = tf.cast(scores, tf.float32)
    differences = SCALE * (cosines[None, :] - cosines[:, None])  # [i, j]
    counted = tf.boolean_mask(differences, scores[:, None] > scores[None, :])
    return tf.reduce_logsumexp(tf.concat([[0.0], counted], axis=0))
