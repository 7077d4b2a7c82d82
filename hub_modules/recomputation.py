"""Gradient checkpointing: what a layer computes is computed again for its gradient, not kept."""

from collections.abc import Callable, Sequence

import keras
import tensorflow as tf


def recomputed(
    layer: keras.layers.Layer, call: Callable[..., tf.Tensor], states: Sequence[tf.Tensor]
) -> tf.Tensor:
    """`call(*states)`, of which only `states` are kept until the gradient.

    For the gradient it is called once more, and dropout draws the same numbers again.

    Args:
        layer: what is called: whose weights have gradients, whose dropout draws.
        states: what the layer has gradients by.

    Source: Chen et al. 2016, section 4.
    """
    seeds = [
        generator.state.value
        for part in layer._flatten_layers()
        for generator in part._seed_generators
    ]

    @tf.custom_gradient
    def forward(*tensors):
        before = [tf.identity(seed) for seed in seeds]
        outputs = call(*tensors)

        def gradient(upstream, variables=()):
            after = [tf.identity(seed) for seed in seeds]
            # Else the second call may start before it is needed, or be merged with the first.
            with tf.control_dependencies([upstream]):
                given = [tf.identity(one) for one in tensors]
                for seed, value in zip(seeds, before, strict=True):
                    seed.assign(value)
            with tf.GradientTape() as tape:
                tape.watch(given)
                again = call(*given)
            for seed, value in zip(seeds, after, strict=True):
                seed.assign(value)
            return _gradients(tape, again, upstream, given, layer, variables)

        return outputs, gradient

    return forward(*states)


def _gradients(tape, outputs, upstream, states, layer, variables):
    """By the states, and by each of the variables that were read; None: it does not learn."""
    learning = [weight.value for weight in layer.trainable_weights]
    found = tape.gradient(outputs, [*states, *learning], upstream)
    by_states, by_weights = found[: len(states)], found[len(states) :]
    by_variable = {id(one): found for one, found in zip(learning, by_weights, strict=True)}
    if not variables:
        return by_states
    return by_states, [by_variable.get(id(variable)) for variable in variables]
