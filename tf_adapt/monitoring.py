"""Keras callbacks that watch a run: TensorBoard, progress with the time left, finite numbers."""

import math
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tf_adapt.errors import TrainingError
from tf_adapt.schedules import Schedule

# The loss scale below which float16 has run out of range: gradients of ordinary size overflow.
SMALLEST_LOSS_SCALE = 2.0**-14
SCALARS_PER_RUN = 1000
SECONDS_BETWEEN_LINES = 10


class LearningRate(keras.callbacks.Callback):
    """Sets the optimizer's rate before each step from a pure function of the step."""

    def __init__(self, schedule: Schedule):
        super().__init__()
        self.schedule = schedule

    def on_train_batch_begin(self, batch, logs=None):
        """Before a step: the rate of that step."""
        optimizer = self.model.optimizer
        optimizer.learning_rate = self.schedule(int(optimizer.iterations.numpy()))


class FiniteGuard(keras.callbacks.Callback):
    """Stops at the first step whose loss or gradient is not finite.

    Args:
        describe_batch: global step → the examples of its batch, for the message.

    Raises:
        TrainingError: in `fit`, with the step (from 1), the first tensor that is not finite, and
            the examples of the batch.
    """

    def __init__(self, describe_batch: Callable[[int], Iterable[str]]):
        super().__init__()
        self.describe_batch = describe_batch
        self.step = 0

    def on_train_batch_begin(self, batch, logs=None):
        """Before a step: its number, counted here since a skipped update does not count."""
        self.step += 1

    def on_train_batch_end(self, batch, logs=None):
        """After a step: the running loss keeps a NaN, the gradient's norm shows one at once."""
        if not math.isfinite(float(logs["loss"])):
            self._stop("the loss")
        scale = getattr(self.model.optimizer, "dynamic_scale", None)
        if scale is not None:
            # In float16 a step with an overflow is skipped, and tried again with a smaller scale.
            if float(scale.numpy()) < SMALLEST_LOSS_SCALE:
                self._stop("the scaled gradient, at any scale,")
        elif not math.isfinite(float(self.model.gradient_norm.value.numpy())):
            self._stop("the gradient")

    def _stop(self, what: str):
        weights = [
            weight.path
            for weight in self.model.trainable_weights
            if not np.isfinite(weight.numpy()).all()
        ]
        examples = list(self.describe_batch(self.step))
        raise TrainingError(
            f"step {self.step}: {what} is not finite"
            + (f"; first weight that is not: {weights[0]}" if weights else "")
            + f"; examples of the batch: {', '.join(examples)}. Nothing of it was saved; look at "
            "these examples, lower training.learning_rate, or set training.mixed_precision: null"
        )


class Scalars(keras.callbacks.Callback):
    """Writes scalars for TensorBoard: loss, metrics, gradient norm, rate of each layer group.

    Args:
        folder: where the event files go.
        total_steps: of the whole run; about `SCALARS_PER_RUN` of them are written.
    """

    def __init__(self, folder: Path, total_steps: int):
        super().__init__()
        self.folder = folder
        self.every = max(1, total_steps // SCALARS_PER_RUN)
        self.writer = None

    def on_train_batch_end(self, batch, logs=None):
        """After a step: what the step showed."""
        step = int(self.model.optimizer.iterations.numpy())
        if step % self.every:
            return
        rate = float(np.asarray(self.model.optimizer.learning_rate))
        groups = [*self.model.encoder.trainable_groups, "head"]
        self.write(
            {f"train/{name}": float(value) for name, value in logs.items()}
            | {"gradient_norm": float(self.model.gradient_norm.value.numpy())}
            | {f"learning_rate/{name}": rate for name in groups},
            step,
        )

    def write(self, scalars: dict[str, float], step: int) -> None:
        """Writes named values at a step."""
        if self.writer is None:
            self.writer = tf.summary.create_file_writer(str(self.folder))
        with self.writer.as_default():
            for name, value in scalars.items():
                tf.summary.scalar(name, value, step=step)

    def close(self) -> None:
        """Flushes what is not written yet."""
        if self.writer is not None:
            self.writer.close()


class ProgressDisplay(keras.callbacks.Callback):
    """A progress bar over all steps with the time left; plain lines where there is no terminal."""

    def __init__(self, total_steps: int, done_steps: int = 0):
        super().__init__()
        console = Console(file=sys.stderr)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("steps, left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.total, self.done, self.first = total_steps, done_steps, done_steps
        self.row = self.bar.add_task("", total=total_steps, completed=done_steps)
        self.epoch = 0
        self.started = self.last_line = time.monotonic()

    def __enter__(self) -> "ProgressDisplay":
        self.bar.start()
        return self

    def __exit__(self, *error) -> None:
        self.bar.stop()

    def on_epoch_begin(self, epoch, logs=None):
        """Before an epoch: its number is shown from 1."""
        self.epoch = epoch + 1

    def on_train_batch_end(self, batch, logs=None):
        """After a step: one more done."""
        self.done += 1
        text = f"epoch {self.epoch}, loss {float(logs['loss']):.4f}"
        self.bar.update(self.row, completed=self.done, description=text)
        if self.bar.disable and time.monotonic() - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            self.say(f"{text}, step {self.done} of {self.total}, {self._seconds_left():.0f} s left")

    def say(self, text: str) -> None:
        """Prints a line above the bar."""
        self.bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _seconds_left(self) -> float:
        seconds = time.monotonic() - self.started
        return seconds / (self.done - self.first) * (self.total - self.done)


def plain_numbers(values: dict[str, Any]) -> dict[str, float | None]:
    """Logs as Python numbers; None for what is not finite, which JSON does not have."""
    numbers = {name: float(value) for name, value in values.items()}
    return {name: number if math.isfinite(number) else None for name, number in numbers.items()}
