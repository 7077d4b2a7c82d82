"""The loop of an LSTM over packed rows, with a gradient written by hand.

Automatic differentiation would accumulate the recurrent kernel's gradient, and compute its factors,
step by step. Here these are single operations over all steps.
"""

import tensorflow as tf

from hub_modules.native.kernels.convertible import is_convertible
from hub_modules.native.kernels.custom_gradients import custom_gradient


def lstm_recurrence(gates_from_input, recurrent_kernel, counts, before):
    """Hidden states of an LSTM, given the input's part of its gates; it starts from zeros.

    `i, f, g, o = gates_from_input + h_before U`, `c = σ(f) c_before + σ(i) tanh(g)`,
    `h = σ(o) tanh(c)`.

    Shapes: gates_from_input `[packed, 4 * units] float32` and `counts`, `before` as in `Packing`;
    recurrent_kernel U `[units, 4 * units] float32` → h `[packed, units]`.
    """
    if is_convertible():
        return _in_padded_steps(gates_from_input, recurrent_kernel, counts)
    return _in_packed_steps(gates_from_input, recurrent_kernel, counts, before)


@custom_gradient
def _in_packed_steps(gates_from_input, recurrent_kernel, counts, before):
    units = recurrent_kernel.shape[0]
    steps = tf.shape(counts)[0]
    inputs = _steps_of(gates_from_input, counts)

    def step(t, hidden, cell, all_gates, cells, hiddens):
        count = counts[t]
        gates = inputs.read(t) + tf.matmul(hidden[:count], recurrent_kernel)
        hidden, cell = _cell(gates, cell[:count])
        written = all_gates.write(t, gates), cells.write(t, cell), hiddens.write(t, hidden)
        return t + 1, hidden, cell, *written

    none_yet = tf.zeros([counts[0], units])
    *_, gates, cells, hiddens = tf.while_loop(
        lambda t, *_: t < steps,
        step,
        (0, none_yet, none_yet, *(_array(steps, width) for width in (4 * units, units, units))),
        shape_invariants=_invariants(units, arrays=3),
        maximum_iterations=steps,
    )
    gates, cells, hiddens = gates.concat(), cells.concat(), hiddens.concat()

    def gradient(upstream):
        from_input, hiddens_before = _gradient(
            upstream, gates, cells, hiddens, recurrent_kernel, counts, before
        )
        # One product over all steps: [units, packed] × [packed, 4 * units].
        return from_input, tf.matmul(hiddens_before, from_input, transpose_a=True), None, None

    return hiddens, gradient


def _cell(gates, cell):
    entry, keep, candidate, output = tf.split(gates, 4, axis=1)
    cell = tf.sigmoid(keep) * cell + tf.sigmoid(entry) * tf.tanh(candidate)
    return tf.sigmoid(output) * tf.tanh(cell), cell


def _in_padded_steps(gates_from_input, recurrent_kernel, counts):
    """With all rows in each step; those that have ended compute what nobody reads."""
    units = recurrent_kernel.shape[0]
    steps, packed = tf.shape(counts)[0], tf.shape(gates_from_input)[0]
    starts = tf.cumsum(counts, exclusive=True)
    begun = starts[None, :] <= tf.range(packed)[:, None]
    step_of = tf.reduce_sum(tf.cast(begun, tf.int32), axis=1) - 1
    rank = tf.range(packed) - tf.gather(starts, step_of)
    places = tf.stack([step_of, rank], axis=1)
    inputs = tf.scatter_nd(places, gates_from_input, tf.stack([steps, counts[0], 4 * units]))

    def step(t, hidden, cell, hiddens):
        hidden, cell = _cell(inputs[t] + tf.matmul(hidden, recurrent_kernel), cell)
        return t + 1, hidden, cell, hiddens.write(t, hidden)

    none_yet = tf.zeros([counts[0], units])
    *_, hiddens = tf.while_loop(
        lambda t, *_: t < steps,
        step,
        (0, none_yet, none_yet, _array(steps, units)),
        shape_invariants=_invariants(units, arrays=1),
        maximum_iterations=steps,
    )
    return tf.gather_nd(hiddens.stack(), places)


def _gradient(upstream, gates, cells, hiddens, recurrent_kernel, counts, before):
    units = recurrent_kernel.shape[0]
    steps = tf.shape(counts)[0]
    entry, keep, candidate, output = tf.split(gates, 4, axis=1)
    entry, keep, output = tf.sigmoid(entry), tf.sigmoid(keep), tf.sigmoid(output)
    candidate, tanh_cells = tf.tanh(candidate), tf.tanh(cells)
    # The gradients of i, f, g and o are those of c, c, c and h times these factors.
    factors = tf.concat(
        [
            candidate * entry * (1 - entry),
            _earlier(cells, before) * keep * (1 - keep),
            entry * (1 - tf.square(candidate)),
            tanh_cells * output * (1 - output),
        ],
        axis=1,
    )
    to_cell = output * (1 - tf.square(tanh_cells))
    upstream, factors, to_cell, keep = (
        _steps_of(part, counts) for part in (upstream, factors, to_cell, keep)
    )

    def step(t, hidden, cell, all_gates):
        # Rows whose last position is this step start with zeros.
        ending = [[0, counts[t] - tf.shape(hidden)[0]], [0, 0]]
        hidden = upstream.read(t) + tf.pad(hidden, ending)
        cell = tf.pad(cell, ending) + hidden * to_cell.read(t)
        gates = tf.concat([cell, cell, cell, hidden], axis=1) * factors.read(t)
        hidden = tf.matmul(gates, recurrent_kernel, transpose_b=True)
        return t - 1, hidden, cell * keep.read(t), all_gates.write(t, gates)

    none_yet = tf.zeros([0, units])
    *_, from_input = tf.while_loop(
        lambda t, *_: t >= 0,
        step,
        (steps - 1, none_yet, none_yet, _array(steps, 4 * units)),
        shape_invariants=_invariants(units, arrays=1),
        maximum_iterations=steps,
    )
    return from_input.concat(), _earlier(hiddens, before)


def _earlier(states, before):
    """`[packed, width]` of the same rows one step earlier; zeros in the first step."""
    return tf.gather(tf.pad(states, [[1, 0], [0, 0]]), before)


def _array(steps, width: int) -> tf.TensorArray:
    return tf.TensorArray(tf.float32, steps, element_shape=[None, width], infer_shape=False)


def _steps_of(packed, counts) -> tf.TensorArray:
    return _array(tf.shape(counts)[0], packed.shape[1]).split(packed, counts)


def _invariants(units: int, arrays: int) -> tuple:
    rows = tf.TensorShape([None, units])
    return tf.TensorShape([]), rows, rows, *[tf.TensorShape(None)] * arrays
