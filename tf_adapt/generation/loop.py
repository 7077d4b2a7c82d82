"""Continues rows token by token with the cached keys and values of a causal transformer."""

from collections.abc import Callable

import tensorflow as tf

from tf_adapt.generation.sampling import next_tokens, uniform_draws


def decoded(step, rows, ends, new, temperature, top_k, top_p, seed, numbers):
    """`continued` with the tokens of `next_tokens`.

    Shapes: numbers `[batch] int32`, of the rows, on which their draws depend; seed a scalar
    `int32`, the others as of `continued` and `next_tokens` → `[batch, at most new] int32`.
    """
    drawn = uniform_draws(seed, numbers, new)

    def choose(logits, number):
        return next_tokens(logits, temperature, top_k, top_p, drawn[:, number])

    return continued(step, rows, ends, new, choose)


def continued(step: Callable, inputs: dict, ends, new, choose: Callable):
    """The tokens that follow each row.

    Shapes: inputs as of `CausalEncoder.step`, `[batch, time]`, padding at the right; ends
    `[ends] int32`, the tokens that end a row; new a scalar `int32` → `[batch, at most new] int32`,
    `ends[0]` behind a row's end token.

    Args:
        step: see `CausalEncoder.step`.
        choose: logits `[batch, words]` and the number of the new token → tokens `[batch]`.
    """
    types = last_types(inputs)
    logits, cache = step(inputs)
    token = choose(logits, 0)
    done = is_end(token, ends)

    def goes_on(number, token, done, tokens, cache):
        return tf.logical_and(number < new, ~tf.reduce_all(done))

    def add(number, token, done, tokens, cache):
        logits, cache = step(one_more(token, types), cache)
        token = tf.where(done, ends[0], choose(logits, number))
        tokens = tf.concat([tokens, token[:, None]], axis=1)
        return number + 1, token, done | is_end(token, ends), tokens, cache

    state = (tf.constant(1), token, done, token[:, None], cache)
    shapes = (
        tf.TensorShape([]),
        token.shape,
        done.shape,
        tf.TensorShape([token.shape[0], None]),
        growing(cache),
    )
    return tf.while_loop(goes_on, add, state, shapes)[3]


def last_types(inputs: dict):
    """The segment of each row's last token, which is that of the new ones, `[batch] int32`; 0
    without segments."""
    lengths = tf.reduce_sum(tf.cast(inputs["input_mask"], tf.int32), axis=1)
    if "input_type_ids" not in inputs:
        return tf.zeros_like(lengths)
    return tf.gather(inputs["input_type_ids"], tf.maximum(lengths - 1, 0), batch_dims=1)


def one_more(token, types) -> dict:
    """The inputs of a step with one token a row: `[batch] int32` → each `[batch, 1]`."""
    return {
        "input_word_ids": token[:, None],
        "input_mask": tf.ones_like(token)[:, None],
        "input_type_ids": types[:, None],
    }


def is_end(tokens, ends):
    """Whether tokens are end tokens: `[…] int32` → `[…] bool`."""
    return tf.reduce_any(tokens[..., None] == ends, axis=-1)


def growing(cache: dict) -> dict:
    """The shapes of a cache whose positions grow in number, and whose rows may be others."""

    def of_any_rows(tensor) -> tf.TensorShape:
        if tensor.shape.rank == 2:  # a mask
            return tf.TensorShape([None, None])
        _, heads, _, head_width = tensor.shape
        return tf.TensorShape([None, heads, None, head_width])

    return tf.nest.map_structure(of_any_rows, cache)
