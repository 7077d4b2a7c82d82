"""Continues texts with a pretrained causal transformer."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hub_modules.native.inference_graph import InferenceGraph
from hub_modules.preprocess.whole_texts import text_columns
from tf_adapt.encoder.encoder_decoder import check_generates
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import DataError
from tf_adapt.generation.beam_search import best_continuations
from tf_adapt.generation.decoding import Decoding
from tf_adapt.generation.loop import decoded


class TokenGenerator:
    """Continues rows of token ids; its graphs serve batches, lengths and settings of any size.

    Args:
        layer: all weights that are read.
        begun: inputs of a call → the rows that are continued, and the `step` that continues them;
            by default the inputs and the layer's, a `CausalEncoder`'s.
    """

    def __init__(self, layer: keras.layers.Layer, begun: Callable[[dict], tuple] | None = None):
        self._begun = begun or (lambda inputs: (inputs, layer.step))
        self._loop = InferenceGraph(layer, self._one_by_one)
        self._search = InferenceGraph(layer, self._by_beams)

    def __call__(
        self, inputs: dict, ends: Sequence[int], decoding: Decoding, seed: int = 0, first: int = 0
    ):
        """The tokens that follow each row.

        Shapes: inputs `[batch, …]`, by default as of `CausalEncoder.step`, padding at the right →
        `[batch, at most max_new_tokens] int32`, `ends[0]` behind a row's end.

        Args:
            ends: ids of the tokens that end a row, at least one.
            first: the number of the first row among all, on which its draws depend.
        """
        new = tf.constant(decoding.max_new_tokens)
        if decoding.beams > 1:
            graph = self._search
            settings = (tf.constant(decoding.beams), _real(decoding.length_penalty))
        else:
            graph = self._loop
            settings = (
                _real(decoding.temperature),
                tf.constant(decoding.top_k),
                _real(decoding.top_p),
                tf.constant(seed),
                tf.constant(first),
            )
        given = (inputs, tf.constant(ends), new, *settings)
        specs = tf.nest.map_structure(_of_any_length, given)
        return graph.for_pass(*specs)(*given)

    def _one_by_one(self, inputs, ends, new, temperature, top_k, top_p, seed, first):
        rows, step = self._begun(inputs)
        numbers = first + tf.range(tf.shape(rows["input_word_ids"])[0])
        return decoded(step, rows, ends, new, temperature, top_k, top_p, seed, numbers)

    def _by_beams(self, inputs, ends, new, beams, length_penalty):
        rows, step = self._begun(inputs)
        return best_continuations(step, rows, ends, new, beams, length_penalty)


def _real(value: float) -> tf.Tensor:
    return tf.constant(float(value))


def _of_any_length(tensor) -> tf.TensorSpec:
    return tf.TensorSpec(len(tensor.shape) * [None], tensor.dtype)


class Generator:
    """Continues texts with a pretrained causal transformer: greedy, by sampling, by beam search.

    A text is read behind `<|endoftext|>`, and its continuation ends before the next one. The keys
    and values of the tokens before are kept, so that each new token costs one position. One graph
    serves all lengths and settings.

    Args:
        encoder: a native causal one without a classification token, such as `lm_small` or GPT-2.

    Raises:
        ConfigError: the encoder is another one.

    Examples:
        >>> write = ta.Generator(ta.HubEncoder("lm_small"))
        >>> write(["The old man"], ta.Decoding(temperature=0.7, top_p=0.9), seed=1)
    """

    def __init__(self, encoder: HubEncoder):
        check_generates(encoder, "generation")
        self._encoder = encoder
        self._end = encoder.preprocessor.special_token_ids["end_of_segment_id"]
        self._tokens = TokenGenerator(encoder.native)

    def __call__(
        self,
        texts: Any,
        decoding: Decoding | None = None,
        seed: int = 0,
        batch_size: int = 16,
    ) -> list[str]:
        """The continuation of each text, in input order; it depends neither on `batch_size` nor,
        when it is drawn, on the texts behind it.

        Args:
            texts: a list of str, or an array or tensor `[texts] string`; an empty text is continued
                from nothing.
            decoding: by default greedy, at most 40 tokens.
            seed: of draws; the same seed draws the same.

        Raises:
            DataError: a text leaves no room for `max_new_tokens`.
        """
        decoding = decoding or Decoding()
        preprocessor = self._encoder.preprocessor
        (column,) = text_columns(texts)
        pieces = preprocessor.tokenize(column)
        starts = tf.fill([pieces.nrows(), 1], self._end)
        rows = tf.concat([starts, tf.cast(pieces, tf.int32)], axis=1)
        self._check_lengths(rows, decoding)
        found: list[str] = []
        for first in range(0, rows.nrows(), batch_size):
            batch = rows[first : first + batch_size]
            mask = tf.sequence_mask(batch.row_lengths(), dtype=tf.int32)
            inputs = {"input_word_ids": batch.to_tensor(self._end), "input_mask": mask}
            tokens = self._tokens(inputs, [self._end], decoding, seed, first)
            written = preprocessor.detokenize(tokens).numpy()
            found += [text.decode("utf-8", errors="replace") for text in written]
        return found

    def _check_lengths(self, rows: tf.RaggedTensor, decoding: Decoding) -> None:
        lengths = rows.row_lengths().numpy()
        most = self._encoder.native.max_positions - decoding.max_new_tokens
        if lengths.size and lengths.max() > most:
            where = int(np.argmax(lengths))
            raise DataError(
                f"texts[{where}]: expected at most {max(most, 0)} tokens, with the one before the "
                f"text, so that {decoding.max_new_tokens} new ones (max_new_tokens) fit into "
                f"{self._encoder.native.max_positions} positions, got {lengths[where]}; shorten "
                "it, or lower max_new_tokens"
            )
