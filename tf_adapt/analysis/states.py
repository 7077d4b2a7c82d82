"""One vector of every layer for each text, pair or tagged word: the features of the analyses."""

import re

import numpy as np
import tensorflow as tf

from hub_modules.families import FAMILIES
from tf_adapt.data.batches import PreparedData, sorted_batches
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.layers.texts import row_vectors
from tf_adapt.layers.word_pieces import word_states
from tf_adapt.printing.progress import tracked


def pooled_states(
    encoder: HubEncoder,
    prepared: PreparedData,
    pooling: str = "mean",
    word_pieces: str = "first",
    batch_size: int = 32,
    what: str = "encoding",
) -> np.ndarray:
    """One vector of each layer for each example, in inference mode; for tagging, for each word.

    Over positions, word pieces (BERT) or words (ELMo): `mean` and `max` without `[CLS]`, `[SEP]`
    and padding, `first` and `last` at the ends of the row, as in the heads (`row_vectors`). For
    pairs encoded jointly (BERT), one vector of both texts; for pairs encoded separately (ELMo),
    with the vectors u and v, `[|u − v|; u ⊙ v]`, as in SentEval.

    Shapes: → `[layers, examples, width]` float32; `2 * width` for pairs encoded separately;
    `[layers, words, width]` for tagging, the words of all sentences in order.

    Args:
        pooling: of the positions of a row, for tasks other than tagging.
        word_pieces: a word's vector from those of its pieces, for tagging: see `word_states`.
        batch_size: affects results only by rounding.
        what: the label of the progress bar.
    """

    @tf.function(autograph=False, reduce_retracing=True)
    def of_batch(inputs):
        encoded = [encoder(inputs[name], training=False) for name in sorted(inputs)]
        if tagging:
            (text,) = encoded
            return tf.stack(
                [
                    _of_words(states, text["mask"], inputs["a"], word_pieces)
                    for states in text["layers"]
                ]
            )
        layers = zip(*(text["layers"] for text in encoded), strict=True)
        return tf.stack(
            [_of_texts(list(states), encoded, inputs["a"], pooling) for states in layers]
        )

    tagging = prepared.sentence_splits is not None
    dataset, order = sorted_batches(prepared, batch_size)
    parts = [
        of_batch(batch[0] if isinstance(batch, tuple) else batch).numpy()
        for batch in tracked(dataset, what, shown=True)
    ]
    places = np.concatenate(order)
    if tagging:
        splits = prepared.segments[0].row_splits.numpy()
        places = np.concatenate([np.arange(*splits[place : place + 2]) for place in places])
    return np.concatenate(parts, axis=1)[:, np.argsort(places)]


def layer_numbers(encoder: HubEncoder) -> list[int]:
    """The number of each output layer; 0 is the embeddings, below the first block.

    A foreign SavedModel without embeddings among its outputs starts at 1. An AWD-LSTM's layers of
    other widths are left out.
    """
    if FAMILIES[encoder.family].some_layers:
        # The embeddings, then LSTMs.
        return [0, *(int(name.removeprefix("lstm_")) + 1 for name in encoder.layer_names[1:])]
    names = [name for name, _ in encoder.layer_groups]
    blocks = sum(re.fullmatch(r"(layer|lstm)_\d+", name) is not None for name in names)
    first = max(0, blocks + 1 - encoder.num_layers)
    return list(range(first, first + encoder.num_layers))


def _of_texts(states: list, encoded: list[dict], inputs: dict, pooling: str):
    """The features of one layer, see `pooled_states`.

    Shapes: states, one `[batch, time, width]` for each encoded input → `[batch, features]`.
    """
    states = [tf.cast(layer, tf.float32) for layer in states]
    vectors = row_vectors(states, encoded, inputs, pooling)
    if len(vectors) == 1:
        return vectors[0]
    first, second = vectors
    return tf.concat([tf.abs(first - second), first * second], axis=1)


def _of_words(states, mask, inputs: dict, word_pieces: str):
    """The words of a batch, row by row: `[batch, time, width]` → `[words, width]`."""
    states = tf.cast(states, tf.float32)
    return tf.boolean_mask(*word_states(states, mask, inputs, word_pieces))
