"""Beam search with a length penalty, by the rules of transformers for scores and ends."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from tf_adapt.generation.loop import growing, is_end, last_types, one_more

# The score of what is no candidate.
_NONE = -1e9


class Beams(NamedTuple):
    """The open and the finished continuations of each row, best first.

    Attributes:
        tokens: of the open ones, `[batch, beams, new] int32`, `ends[0]` where none is yet.
        scores: their log probabilities, `[batch, beams] float32`.
        finished, finished_scores: as these, with the length penalty.
        is_finished: whether there is one, `[batch, beams] bool`.
        improvable: whether an open one may become better than the finished, `[batch] bool`.
    """

    tokens: tf.Tensor
    scores: tf.Tensor
    finished: tf.Tensor
    finished_scores: tf.Tensor
    is_finished: tf.Tensor
    improvable: tf.Tensor


def best_continuations(step: Callable, inputs: dict, ends, new, beams, length_penalty):
    """The best finished continuation of each row.

    Shapes: as of `continued`; beams a scalar `int32`, length_penalty a scalar `float32` →
    `[batch, new] int32`, `ends[0]` behind a row's end token.

    Source: transformers 5, `GenerationMixin._beam_search` with `early_stopping=False`.
    """
    logits, cache = step(inputs)
    types = last_types(inputs)
    logits, cache, types = tf.nest.map_structure(
        lambda tensor: tf.repeat(tensor, beams, axis=0), (logits, cache, types)
    )

    def extend(number, state, cache, logits):
        state, source = _extended(state, logits, number, ends, new, length_penalty)
        cache = tf.nest.map_structure(lambda one: tf.gather(one, source), cache)
        return number + 1, state, cache

    def goes_on(number, state, cache):
        return tf.logical_and(number < new, tf.reduce_any(state.improvable))

    def add(number, state, cache):
        token = tf.reshape(tf.gather(state.tokens, number - 1, axis=2), [-1])
        logits, cache = step(one_more(token, types), cache)
        return extend(number, state, cache, logits)

    start = _start(tf.shape(logits)[0] // beams, beams, new, ends[0])
    state = extend(tf.constant(0), start, cache, logits)
    shapes = (
        tf.TensorShape([]),
        tf.nest.map_structure(lambda tensor: tf.TensorShape(tensor.shape.rank * [None]), start),
        growing(cache),
    )
    return tf.while_loop(goes_on, add, state, shapes)[1].finished[:, 0]


def _start(batch, beams, new, end) -> Beams:
    """One open beam: from equal ones the search would find every continuation several times."""
    none = tf.fill([batch, beams], _NONE)
    tokens = tf.fill([batch, beams, new], end)
    scores = tf.concat([tf.zeros([batch, 1]), none[:, 1:]], axis=1)
    return Beams(tokens, scores, tokens, none, none > 0, tf.fill([batch], True))


def _extended(state: Beams, logits, number, ends, new, length_penalty):
    """The beams with one more token, and the row of each open one's beginning.

    Shapes: logits `[batch · beams, words] float32` → rows `[batch · beams] int32`.
    """
    batch, beams = tf.unstack(tf.shape(state.scores))
    words = logits.shape[-1]
    scores = tf.reshape(tf.nn.log_softmax(logits), [batch, beams, words]) + state.scores[..., None]
    # So many that as many as there are beams stay open, whatever ends.
    count = (1 + tf.maximum(1, tf.size(ends))) * beams
    scores, places = tf.math.top_k(tf.reshape(scores, [batch, beams * words]), count)
    source, token = places // words, places % words
    tokens = tf.gather(state.tokens, source, batch_dims=1)
    tokens = tf.where(tf.range(new) == number, token[..., None], tokens)
    ended = is_end(token, ends) | (number + 1 >= new)
    open_scores, chosen = tf.math.top_k(tf.where(ended, scores + _NONE, scores), beams)
    finished = _finished(state, tokens, scores, ended, number + 1, length_penalty)
    source = tf.gather(source, chosen, batch_dims=1) + (tf.range(batch) * beams)[:, None]
    extended = Beams(tf.gather(tokens, chosen, batch_dims=1), open_scores, *finished)
    return _with_improvable(extended, number + 1, length_penalty), tf.reshape(source, [-1])


def _finished(state: Beams, tokens, scores, ended, length, length_penalty) -> tuple:
    """The best of the finished continuations and of those among the best that end now."""
    beams = tf.shape(state.scores)[1]
    ends_now = ended & (tf.range(tf.shape(scores)[1]) < beams) & state.improvable[:, None]
    scores = tf.where(ends_now, _penalized(scores, length, length_penalty), _NONE)
    scores, chosen = tf.math.top_k(tf.concat([state.finished_scores, scores], axis=1), beams)
    tokens = tf.concat([state.finished, tokens], axis=1)
    is_finished = tf.concat([state.is_finished, ends_now], axis=1)
    kept = [tf.gather(one, chosen, batch_dims=1) for one in (tokens, is_finished)]
    return kept[0], scores, kept[1], state.improvable


def _with_improvable(state: Beams, length, length_penalty) -> Beams:
    best = _penalized(state.scores[:, 0], length, length_penalty)
    worst = tf.where(state.is_finished, state.finished_scores[:, -1:], _NONE)
    better = tf.reduce_any(best[:, None] > worst, axis=1)
    return state._replace(improvable=state.improvable & better)


def _penalized(scores, length, length_penalty):
    return scores / tf.cast(length, tf.float32) ** length_penalty
