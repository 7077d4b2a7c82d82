"""Keras callbacks of a run: learning rate, progress display, check for finite losses."""

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import keras
import tensorflow as tf
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from tf_adapt.errors import TrainingError
from tf_adapt.printing.progress import progress_console
from tf_adapt.training.state import RunState

# Below this loss scale training in float16 has failed: gradients overflow at any useful scale.
SMALLEST_LOSS_SCALE = 2.0**-14
SECONDS_BETWEEN_LINES = 10


class LearningRate(keras.callbacks.Callback):
    """Sets the optimizer's learning rate before each step from a function of the step."""

    def __init__(self, rate: Callable[[int], float], state: RunState):
        super().__init__()
        self.rate = rate
        self.state = state

    def on_train_batch_begin(self, batch, logs=None):
        """Sets the rate of the next step."""
        self.model.optimizer.learning_rate = self.rate(self.state.global_step)


class FiniteGuard(keras.callbacks.Callback):
    """Stops at the first step whose loss or gradient is not finite.

    Args:
        describe_step: returns the number of the current step and the examples of its batch as text.

    Raises:
        TrainingError: in `fit`, with that text, and whether loss or gradient is not finite.
    """

    def __init__(self, describe_step: Callable[[], str]):
        super().__init__()
        self.describe_step = describe_step

    def on_train_batch_end(self, batch, logs=None):
        """Checks the running mean of the loss, in which a NaN stays, and the gradient's norm."""
        if not math.isfinite(float(logs["loss"])):
            self._stop("the loss")
        scale = getattr(self.model.optimizer, "dynamic_scale", None)
        if scale is not None:
            # In float16 an update with an overflow is skipped, and the loss scale reduced.
            if float(scale.numpy()) < SMALLEST_LOSS_SCALE:
                self._stop("the gradient, however scaled,")
        elif not math.isfinite(float(self.model.gradient_norm.value.numpy())):
            self._stop("the gradient")

    def _stop(self, what: str):
        raise TrainingError(
            f"{self.describe_step()}: {what} is not finite; nothing of this step was saved. Look "
            "at these examples, lower training.learning_rate, or try "
            "training.mixed_precision: null"
        )


class ProgressDisplay(keras.callbacks.Callback):
    """A progress bar over all steps with the time left; plain lines if there is no terminal."""

    def __init__(self, state: RunState, total_steps: int, shown: bool = True):
        super().__init__()
        self.console = progress_console(shown)
        self.state = state
        self.total_steps = total_steps
        self.first_step = state.global_step
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("steps, left"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.row = self.bar.add_task("", total=total_steps, completed=self.first_step)
        self.started = self.last_line = time.monotonic()

    def __enter__(self) -> "ProgressDisplay":
        self.bar.start()
        return self

    def __exit__(self, *error) -> None:
        self.bar.stop()

    def on_train_batch_end(self, batch, logs=None):
        """Shows the step as done, with epoch and loss."""
        done, now = self.state.global_step, time.monotonic()
        text = f"epoch {self.state.epoch + 1}, loss {float(logs['loss']):.4f}"
        self.bar.update(self.row, completed=done, description=text)
        if self.bar.disable and now - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = now
            per_step = (now - self.started) / (done - self.first_step)
            left = per_step * (self.total_steps - done)
            self.say(f"{text}, step {done} of {self.total_steps}, {left:.0f} s left")

    def track(self, batches: tf.data.Dataset) -> Iterable:
        """The batches of a pass that computes hidden states, with their own progress bar."""
        row = self.bar.add_task("features", total=len(batches))
        yield from self.bar.track(batches, task_id=row)
        self.bar.remove_task(row)

    def say(self, text: str) -> None:
        """Prints a line above the bar."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


def plain_numbers(values: dict[str, Any]) -> dict[str, float | None]:
    """Logs as Python floats; None for values that are not finite, which JSON lacks."""
    numbers = {name: float(value) for name, value in values.items()}
    return {name: number if math.isfinite(number) else None for name, number in numbers.items()}
