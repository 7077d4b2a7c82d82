"""How far one prediction is from another, by kind of task."""

from keras import ops

from tf_adapt.tasks.keras_kinds import KINDS
from tf_adapt.tasks.task import Task


def consistency_losses(
    task: Task, wanted, given, temperature: float | None = None, confidence: float | None = None
) -> tuple:
    """`m · KL(softmax(wanted / temperature) ‖ softmax(given))` and m, of each example or word.

    m is 1 where the largest of softmax(wanted) is above the confidence, else 0; without a
    confidence it is 1. For sets of labels both are means over the labels, each with two outcomes.

    Shapes: logits `[…, labels]` twice → `[…]` twice, float32.
    """
    wanted, given = with_outcomes(task, wanted), with_outcomes(task, given)
    losses = divergence(wanted / (temperature or 1.0), given)
    counts = ops.ones_like(losses)
    if confidence is not None:
        counts = ops.cast(ops.max(ops.softmax(wanted), axis=-1) > confidence, "float32")
    losses = counts * losses
    of_choices = KINDS[task.kind].of_choices
    return of_choices(losses), of_choices(counts)


def with_outcomes(task: Task, logits):
    """The logits of each decision's outcomes in float32: of sets of labels `[…, labels, 2]`."""
    return KINDS[task.kind].outcomes(ops.cast(logits, "float32"))


def divergence(wanted, given):
    """`KL(softmax(wanted) ‖ softmax(given))` along the last axis, not below 0 by rounding."""
    wanted, given = ops.log_softmax(wanted), ops.log_softmax(given)
    total = ops.sum(ops.exp(wanted) * (wanted - given), axis=-1)
    # Only the value is cut: the gradient is that of the sum.
    return total + ops.stop_gradient(ops.maximum(-total, 0.0))
