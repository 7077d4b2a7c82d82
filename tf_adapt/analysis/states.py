"""The mean hidden state of every layer for each text or pair: what the analyses look at."""

import re

import numpy as np
import tensorflow as tf

from tf_adapt.data.batches import PreparedData, sorted_batches
from tf_adapt.encoder import HubEncoder
from tf_adapt.layers.pooling import masked_mean
from tf_adapt.layers.texts import text_states
from tf_adapt.monitoring import tracked


def mean_states(
    encoder: HubEncoder, prepared: PreparedData, batch_size: int = 32, what: str = "encoding"
) -> np.ndarray:
    """One vector for each layer and example, in inference mode.

    The mean over what the encoder read of the text: word pieces or words, without `[CLS]` and
    `[SEP]`, which are no words of a text (as in the heads of this project), and without padding. A
    pair that is read as one row (BERT) has the mean over both texts; of a pair that is read apart
    (ELMo), with the means u and v, the vector is `[|u − v|; u ⊙ v]`, as in SentEval.

    Shapes: → `[layers, examples, width]` float32; `2 * width` for pairs that are read apart.

    Args:
        batch_size: no result depends on it but for rounding.
        what: shown beside the progress bar.
    """

    @tf.function(autograph=False, reduce_retracing=True)
    def of_batch(inputs):
        encoded = [encoder(inputs[name], training=False) for name in sorted(inputs)]
        layers = zip(*(text["layers"] for text in encoded), strict=True)
        return tf.stack([_of_layer(list(states), encoded, inputs["a"]) for states in layers])

    dataset, order = sorted_batches(prepared, batch_size)
    parts = [
        of_batch(batch[0] if isinstance(batch, tuple) else batch).numpy()
        for batch in tracked(dataset, what, shown=True)
    ]
    return np.concatenate(parts, axis=1)[:, np.argsort(np.concatenate(order))]


def layer_numbers(encoder: HubEncoder) -> list[int]:
    """The number of each layer that comes out; 0 is what lies below the first block.

    A foreign module that runs its own program may not give out its embeddings: it starts at 1.
    """
    names = [name for name, _ in encoder.layer_groups]
    blocks = sum(re.fullmatch(r"(layer|lstm)_\d+", name) is not None for name in names)
    first = max(0, blocks + 1 - encoder.num_layers)
    return list(range(first, first + encoder.num_layers))


def _of_layer(states: list, encoded: list[dict], inputs: dict):
    """Shapes: states, one `[batch, time, width]` for each row read → `[batch, features]`."""
    texts = text_states([tf.cast(one, tf.float32) for one in states], encoded, inputs)
    if len(encoded) == 1:
        return masked_mean(*(tf.concat(parts, axis=1) for parts in zip(*texts, strict=True)))
    first, second = (masked_mean(*text) for text in texts)
    return tf.concat([tf.abs(first - second), first * second], axis=1)
