"""Adam's update as one operation per weight instead of twenty, each of which writes an array.

This halves the graph of a training step, and reads and writes memory once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import keras
import tensorflow as tf


class FusedWeight(NamedTuple):
    """A weight on its device with its gradient, optimizer and learning rate.

    Args:
        variable: the weight.
        gradient: of the same shape.
        optimizer: the weight's own Adam, built over it alone; provides slots and step counter.
        rate: η, scalar float32.
        decay: η λ, scalar float32; None: no weight decay.
    """

    variable: tf.Variable
    gradient: tf.Tensor
    optimizer: keras.optimizers.Optimizer
    rate: tf.Tensor
    decay: tf.Tensor | None


def can_fuse(
    optimizer: keras.optimizers.Optimizer, variables: Sequence[keras.Variable | tf.Variable]
) -> bool:
    """Whether the fused operation equals this optimizer: plain Adam or AdamW, in float32."""
    return (
        type(optimizer) in (keras.optimizers.Adam, keras.optimizers.AdamW)
        and not (optimizer.amsgrad or optimizer.use_ema)
        and all(
            keras.backend.standardize_dtype(variable.dtype) == "float32" for variable in variables
        )
    )


def fused_steps(strategy: tf.distribute.Strategy, weights: Sequence[FusedWeight]) -> None:
    """Updates each weight as `optimizer.apply` would, up to float32 rounding.

    `m ← m + (1 − β₁)(g − m)`, `v ← v + (1 − β₂)(g² − v)`,
    `w ← w − η λ w − η √(1 − β₂ᵗ) / (1 − β₁ᵗ) · m / (√v + ε)`, with the weight's own step t.

    Call it where a strategy updates variables (in a merge call).

    Source: Kingma and Ba 2015, section 2; decay: Loshchilov and Hutter 2019, algorithm 2.
    """
    if not weights:
        return
    adam = weights[0].optimizer
    counters = [weight.optimizer.iterations.value for weight in weights]
    steps = tf.cast(
        tf.stack([tf.convert_to_tensor(counter) for counter in counters]) + 1, tf.float32
    )
    powers = [tf.unstack(tf.pow(beta, steps), len(weights)) for beta in (adam.beta_1, adam.beta_2)]
    constants = {"beta1": adam.beta_1, "beta2": adam.beta_2, "epsilon": adam.epsilon}
    constants = {name: tf.constant(number) for name, number in constants.items()}
    one_step = tf.ones([], counters[0].dtype)
    for weight, counter, power_1, power_2 in zip(weights, counters, *powers, strict=True):
        momentum, velocity = weight.optimizer._momentums[0], weight.optimizer._velocities[0]
        numbers = {"beta1_power": power_1, "beta2_power": power_2, "lr": weight.rate, **constants}
        strategy.extended.update(
            weight.variable,
            _move,
            args=(momentum.value, velocity.value, weight.gradient, weight.decay),
            kwargs=numbers,
            group=False,
        )
        counter.assign_add(one_step)


def _move(variable, momentum, velocity, gradient, decay, **numbers):
    if decay is not None:
        variable.assign_sub(variable * decay)
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle, m=momentum.handle, v=velocity.handle, grad=gradient, **numbers
    )
