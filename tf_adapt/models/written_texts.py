"""The texts that a model writes, in the graph."""

import tensorflow as tf

from tf_adapt.generation.beam_search import best_continuations
from tf_adapt.generation.loop import decoded


def written_texts(model, read, new=None, temperature=0.0, seed=0):
    """The text that a model writes for each row: the best of its `beams`, with one the most
    probable tokens, or drawn ones.

    A row's draws depend on the seed alone, whatever other rows there are.

    Shapes: new and seed scalars `int32`, temperature a scalar `float32` → `[batch] string`, UTF-8
    without white space around it; "" where the first token ends the text.

    Args:
        model: a `DialogModel` or an `EncoderDecoderModel`.
        read: what its `read` returned of prompts or sources.
        new: most tokens of a text; by default the model's `new_tokens`.
        temperature: 0: no draw; see `Decoding`.
    """
    rows, step = model.begun(read)
    new = tf.convert_to_tensor(model.new_tokens if new is None else new)
    numbers = tf.zeros_like(rows["input_word_ids"][:, 0])
    ends, temperature = tf.constant([model.end]), tf.convert_to_tensor(temperature)
    draws = [tf.convert_to_tensor(one) for one in (temperature, 0, 1.0, seed, numbers)]

    def one_by_one():
        return decoded(step, rows, ends, new, *draws)

    def best():
        penalty = tf.constant(model.length_penalty)
        return best_continuations(step, rows, ends, new, tf.constant(model.beams), penalty)

    searches = model.beams > 1
    tokens = tf.cond(temperature > 0, one_by_one, best) if searches else one_by_one()
    texts = tf.strings.strip(model.writer.detokenize(tokens))
    # A text may be cut inside of a character.
    return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
