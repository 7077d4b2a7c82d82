"""Sources in the graph: what is read for the texts about them."""

from typing import Any

import tensorflow as tf

from tf_adapt.data.packing.prepared import Limits
from tf_adapt.serving.exports.by_kind.classification import packed


def sources(model: Any, texts: list[tf.Tensor], limits: Limits, new: tf.Tensor) -> dict:
    """The inputs of an `EncoderDecoderModel` for sources, `[batch] string`.

    Raises:
        tf.errors.InvalidArgumentError: in the graph: the decoder has no positions for so many new
            tokens; a source is too long.
    """
    most = model.decoder.max_positions
    message = tf.strings.format(
        f"max_new_tokens: expected at most {most}, the positions of the decoder, got {{}}", new
    )
    with tf.control_dependencies([tf.debugging.Assert(new <= most, [message])]):
        texts = [tf.identity(column) for column in texts]
    return packed(texts, model.encoder.preprocessor, True, limits)["inputs"]["a"]
