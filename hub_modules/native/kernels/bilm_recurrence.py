"""The loop over time of ELMo's LSTMs with projection, with a gradient written by hand.

Automatic differentiation of the loop would accumulate the gradients of the recurrent kernel and of
the projection step by step. Here each is one matrix product over all steps.
"""

import tensorflow as tf

from hub_modules.native.kernels.custom_gradients import custom_gradient


def projected_lstm(
    gates_from_input, recurrent, projection, hidden, cell, lengths, cell_clip, projection_clip
):
    """Hidden states of several LSTMs in parallel, given the input's part of their gates.

    `i, j, f, o = gates_from_input + h U`; `c = clip(σ(f) c + σ(i) tanh(j))`,
    `h = clip((σ(o) tanh(c)) P)`. A row's state does not change after its last word.

    Shapes: gates_from_input `[time, directions, batch, 4 * units]`, recurrent U
    `[directions, width, 4 * units]`, projection P `[directions, units, width]`, hidden
    `[directions, batch, width]`, all of one dtype; cell `[directions, batch, units] float32`;
    lengths `[batch] int32` → h `[time, directions, batch, width]`, the last h and c of each row.

    Args:
        cell_clip, projection_clip: largest absolute value; None: unbounded.
    """
    clips = (cell_clip, projection_clip)

    @custom_gradient
    def recurrence(gates_from_input, recurrent, projection, hidden, cell):
        steps = tf.shape(gates_from_input)[0]

        def step(index, hidden, cell, outputs, hiddens, cells):
            gates = gates_from_input[index] + tf.matmul(hidden, recurrent)
            new_hidden, new_cell = _cell(gates, cell, projection, *clips)
            alive = (index < lengths)[None, :, None]
            return (
                index + 1,
                tf.where(alive, new_hidden, hidden),
                tf.where(alive, new_cell, cell),
                outputs.write(index, new_hidden),
                hiddens.write(index, hidden),
                cells.write(index, cell),
            )

        arrays = [_array(steps, like) for like in (hidden, hidden, cell)]
        _, last_hidden, last_cell, *arrays = tf.while_loop(
            lambda index, *_: index < steps,
            step,
            (0, hidden, cell, *arrays),
            maximum_iterations=steps,
        )
        outputs, hiddens, cells = (array.stack() for array in arrays)

        def gradient(*upstream):
            gates = gates_from_input + tf.matmul(hiddens, recurrent)
            of_gates, of_projected, exposed, of_hidden, of_cell = _gradient(
                gates, recurrent, projection, cells, lengths, clips, *upstream
            )
            return (
                of_gates,
                _over_steps(hiddens, of_gates),
                _over_steps(exposed, of_projected),
                of_hidden,
                of_cell,
            )

        return (outputs, last_hidden, last_cell), gradient

    return recurrence(gates_from_input, recurrent, projection, hidden, cell)


def _cell(gates, cell, projection, cell_clip, projection_clip):
    entry, candidate, keep, output = tf.split(tf.cast(gates, tf.float32), 4, -1)
    cell = _clipped(tf.sigmoid(keep) * cell + tf.sigmoid(entry) * tf.tanh(candidate), cell_clip)
    exposed = tf.cast(tf.sigmoid(output) * tf.tanh(cell), projection.dtype)
    return _clipped(tf.matmul(exposed, projection), projection_clip), cell


def _gradient(gates, recurrent, projection, cells, lengths, clips, of_outputs, of_hidden, of_cell):
    """Gradients of the gates and of the projected states at all steps, and the states before the
    projection; gradients of the initial states."""
    dtype = projection.dtype
    entry, candidate, keep, output = tf.split(tf.cast(gates, tf.float32), 4, -1)
    entry, keep, output = tf.sigmoid(entry), tf.sigmoid(keep), tf.sigmoid(output)
    candidate = tf.tanh(candidate)
    cell = keep * cells + entry * candidate
    tanh_cell = tf.tanh(_clipped(cell, clips[0]))
    exposed = tf.cast(output * tanh_cell, dtype)
    inside = tf.cast(_inside(tf.matmul(exposed, projection), clips[1]), tf.float32)
    cell_inside = tf.cast(_inside(cell, clips[0]), tf.float32)
    # The gradients of i, j and f are that of c times these factors.
    factors = tf.stack(
        [
            candidate * entry * (1 - entry),
            entry * (1 - tf.square(candidate)),
            cells * keep * (1 - keep),
        ],
        axis=1,
    )
    of_output = tanh_cell * output * (1 - output)
    to_cell = output * (1 - tf.square(tanh_cell))

    def step(index, hidden, cell, all_gates, all_projected):
        alive = tf.cast(index < lengths, tf.float32)[None, :, None]
        projected = (tf.cast(of_outputs[index], tf.float32) + alive * hidden) * inside[index]
        projected = tf.cast(projected, dtype)
        upwards = tf.cast(tf.matmul(projected, projection, transpose_b=True), tf.float32)
        inner = (alive * cell + upwards * to_cell[index]) * cell_inside[index]
        entry, candidate, forget = tf.unstack(inner * factors[index])
        gates = tf.concat([entry, candidate, forget, upwards * of_output[index]], axis=-1)
        gates = tf.cast(gates, dtype)
        backwards = tf.cast(tf.matmul(gates, recurrent, transpose_b=True), tf.float32)
        return (
            index - 1,
            (1 - alive) * hidden + backwards,
            (1 - alive) * cell + inner * keep[index],
            all_gates.write(index, gates),
            all_projected.write(index, projected),
        )

    steps = tf.shape(gates)[0]
    arrays = [_array(steps, gates[0]), _array(steps, of_outputs[0])]
    _, hidden, cell, *arrays = tf.while_loop(
        lambda index, *_: index >= 0,
        step,
        (steps - 1, tf.cast(of_hidden, tf.float32), of_cell, *arrays),
        maximum_iterations=steps,
    )
    of_gates, of_projected = (array.stack() for array in arrays)
    return of_gates, of_projected, exposed, tf.cast(hidden, dtype), cell


def _over_steps(left, right):
    """`Σ_t leftᵀ right` for each direction, in one product."""
    left, right = (_by_direction(values) for values in (left, right))
    return tf.matmul(left, right, transpose_a=True)


def _by_direction(values):
    """`[time, directions, batch, width]` → `[directions, time * batch, width]`."""
    values = tf.transpose(values, [1, 0, 2, 3])
    return tf.reshape(values, [values.shape[0], -1, values.shape[3]])


def _clipped(values, limit):
    return values if not limit else tf.clip_by_value(values, -limit, limit)


def _inside(values, limit):
    return tf.ones_like(values, tf.bool) if not limit else tf.abs(values) <= limit


def _array(steps, like) -> tf.TensorArray:
    return tf.TensorArray(like.dtype, steps, element_shape=[like.shape[0], None, like.shape[-1]])
