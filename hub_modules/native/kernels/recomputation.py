"""Gradient checkpointing: a layer is computed again in the backward pass, not kept in memory."""

from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

from hub_modules.native.kernels.custom_gradients import custom_gradient

# So many positions keep two cores busy; more would only take memory.
SLICE_POSITIONS = 2048


def recomputed(
    layer: keras.layers.Layer,
    call: Callable[..., tf.Tensor],
    states: Sequence[tf.Tensor],
    mask: tf.Tensor,
    in_slices: bool = True,
) -> tf.Tensor:
    """`call(mask, *states)`, which keeps only `states` for the backward pass.

    The backward pass calls it once more, with the same dropout masks. Both times the batch is
    split into slices of at most `SLICE_POSITIONS` positions (at least one text), so that a large
    batch needs no more memory than one slice.

    Shapes: states, each `[batch, time, width]`, and mask `[batch, time]` → `[batch, time, width]`.

    Args:
        layer: the layer that `call` runs: its trainable weights get gradients, its dropout seeds
            are restored.
        states: inputs that get gradients.
        in_slices: False: the batch in one piece, for XLA, which must know sizes beforehand.

    Source: Chen et al. 2016, section 4.
    """
    seeds = [
        generator.state.value
        for part in layer._flatten_layers()
        for generator in part._seed_generators
    ]
    over = _over_slices if in_slices else _over_all

    @custom_gradient
    def forward(*tensors):
        before = [tf.identity(seed) for seed in seeds]
        (outputs,), _ = over([mask, *tensors], lambda *part: ([call(*part)], []), 1, [])

        def gradient(upstream, variables=()):
            after = [tf.identity(seed) for seed in seeds]
            # Else the second call may start too early, or be merged with the first.
            with tf.control_dependencies([upstream]):
                inputs = [tf.identity(tensor) for tensor in (mask, *tensors)]
                for seed, value in zip(seeds, before, strict=True):
                    seed.assign(value)
            trainable = [weight.value for weight in layer.trainable_weights]

            def again(upstream, mask, *tensors):
                with tf.GradientTape() as tape:
                    tape.watch(tensors)
                    outputs = call(mask, *tensors)
                by_all = tape.gradient(
                    outputs,
                    [*tensors, *trainable],
                    upstream,
                    unconnected_gradients=tf.UnconnectedGradients.ZERO,
                )
                return by_all[: len(tensors)], by_all[len(tensors) :]

            zeros = [tf.zeros_like(weight) for weight in trainable]
            by_states, by_weights = over([upstream, *inputs], again, len(tensors), zeros)
            for seed, value in zip(seeds, after, strict=True):
                seed.assign(value)
            if not variables:
                return by_states
            by_variable = {
                id(weight): of_weight
                for weight, of_weight in zip(trainable, by_weights, strict=True)
            }
            # None for frozen weights that the layer used.
            return by_states, [by_variable.get(id(variable)) for variable in variables]

        return outputs, gradient

    return forward(*states)


def _over_all(tensors, call, num_outputs, sums):
    return call(*tensors)


def _over_slices(tensors, call, num_outputs, sums):
    """Calls `call` on each slice of the batch; the last of the tensors is `[batch, time, width]`.

    `call` returns a list of outputs, which are concatenated, and a list of summands for `sums`.
    """
    states = tensors[-1]
    batch, time, _ = tf.unstack(tf.shape(states))
    texts = tf.maximum(1, SLICE_POSITIONS // tf.maximum(1, time))
    # A device may get no text: its one slice is empty.
    count = tf.maximum(1, -(-batch // texts))
    outputs = [tf.TensorArray(states.dtype, count, infer_shape=False) for _ in range(num_outputs)]

    def step(index, outputs, sums):
        rows = slice(index * texts, (index + 1) * texts)
        of_slice, to_add = call(*[tensor[rows] for tensor in tensors])
        outputs = [
            array.write(index, output) for array, output in zip(outputs, of_slice, strict=True)
        ]
        return index + 1, outputs, [a + b for a, b in zip(sums, to_add, strict=True)]

    _, outputs, sums = tf.while_loop(
        lambda index, *_: index < count,
        step,
        (tf.constant(0), outputs, sums),
        parallel_iterations=1,
        maximum_iterations=count,
    )
    return [tf.ensure_shape(array.concat(), states.shape) for array in outputs], sums
