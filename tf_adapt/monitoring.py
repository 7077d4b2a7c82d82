"""Keras callbacks that watch a run: TensorBoard, progress with the time left, finite numbers."""

import math
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    track,
)

from tf_adapt.errors import TrainingError
from tf_adapt.planning import groups_with_weights
from tf_adapt.run_state import RunState
from tf_adapt.starting_point import StartingPoint

# The loss scale below which float16 has run out of range: gradients of ordinary size overflow.
SMALLEST_LOSS_SCALE = 2.0**-14
SCALARS_PER_RUN = 200
# What reads all weights is written less often.
NORMS_PER_RUN = 40
SECONDS_BETWEEN_LINES = 10


def tracked(batches: tf.data.Dataset | list, what: str, shown: bool) -> Iterable:
    """The batches, with a progress bar on the terminal if `shown`."""
    console = Console(file=sys.stderr, quiet=not (shown and sys.stderr.isatty()))
    total = len(batches)
    return track(batches, what, total=total, console=console, transient=True)


class LearningRate(keras.callbacks.Callback):
    """Sets the optimizer's rate before each step from a pure function of the step."""

    def __init__(self, rate: Callable[[int], float], state: RunState):
        super().__init__()
        self.rate = rate
        self.state = state

    def on_train_batch_begin(self, batch, logs=None):
        """Before a step: the rate of that step."""
        self.model.optimizer.learning_rate = self.rate(self.state.global_step)


class FiniteGuard(keras.callbacks.Callback):
    """Stops at the first step whose loss or gradient is not finite.

    Args:
        describe_step: the number of the step under way and the examples of its batch, as text.

    Raises:
        TrainingError: in `fit`, with that text and the first tensor that is not finite.
    """

    def __init__(self, describe_step: Callable[[], str]):
        super().__init__()
        self.describe_step = describe_step

    def on_train_batch_end(self, batch, logs=None):
        """After a step: the running loss keeps a NaN, the gradient's norm shows one at once."""
        if not math.isfinite(float(logs["loss"])):
            self._stop("the loss")
        scale = getattr(self.model.optimizer, "dynamic_scale", None)
        if scale is not None:
            # In float16 a step with an overflow is skipped, and tried again with a smaller scale.
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


class Scalars(keras.callbacks.Callback):
    """Writes scalars for TensorBoard: loss, metrics, gradient norm, and by layer group.

    Of each group that learns: the rate; the norm of the step's update; of the encoder's groups, the
    distance from the pretrained weights. A group that is frozen at a step gets no point there.

    Args:
        folder: where the event files go.
        state: of the run, for the step.
        total_steps: of the whole run; about `SCALARS_PER_RUN` of them are written.
        start: the pretrained weights, for the distances; None where no encoder group ever learns.
    """

    def __init__(
        self, folder: Path, state: RunState, total_steps: int, start: StartingPoint | None
    ):
        super().__init__()
        self.folder = folder
        self.state = state
        self.every = max(1, total_steps // SCALARS_PER_RUN)
        self.norms_every = self.every * max(1, total_steps // (self.every * NORMS_PER_RUN))
        self.start = start
        self.before: dict[str, list] = {}
        self.writer = None

    def on_train_batch_begin(self, batch, logs=None):
        """Before a step whose update is going to be written: the weights as they are."""
        if (self.state.global_step + 1) % self.norms_every == 0:
            self.before = {
                name: [tf.identity(weight.value) for weight in weights if weight.trainable]
                for name, weights in groups_with_weights(self.model)
            }

    def on_train_batch_end(self, batch, logs=None):
        """After a step: what the step showed."""
        if self.state.global_step % self.every:
            return
        groups = groups_with_weights(self.model)
        learning = {name for name, weights in groups if any(w.trainable for w in weights)}
        rates = self.model.unscaled_optimizer.rates()
        scalars = {f"train/{name}": float(value) for name, value in logs.items()}
        scalars["train/gradient_norm"] = float(self.model.gradient_norm.value.numpy())
        scalars |= {f"learning_rate/{name}": rates[name] for name in rates if name in learning}
        if self.state.global_step % self.norms_every == 0:
            scalars |= self._norms(dict(groups), learning)
        self._write(scalars)

    def _norms(self, groups: dict[str, list], learning: set[str]) -> dict[str, float]:
        norms = {}
        for name in learning & set(self.before):
            after = [weight.value for weight in groups[name] if weight.trainable]
            moved = [new - old for new, old in zip(after, self.before[name], strict=True)]
            norms[f"update_norm/{name}"] = float(tf.linalg.global_norm(moved))
        distances = {} if self.start is None else self.start.distances()
        self.before = {}
        return norms | {f"distance/{name}": value for name, value in distances.items()}

    def write_row(self, row: dict[str, Any]) -> None:
        """Writes a row of the history: an epoch's means and dev scores."""
        self._write(
            {
                f"epoch/{name}": value
                for name, value in row.items()
                if value is not None and name not in ("epoch", "step")
            }
        )

    def close(self) -> None:
        """Flushes what is not written yet."""
        if self.writer is not None:
            self.writer.close()

    def _write(self, scalars: dict[str, float]) -> None:
        if self.writer is None:
            self.writer = tf.summary.create_file_writer(str(self.folder))
        with self.writer.as_default():
            for name, value in scalars.items():
                tf.summary.scalar(name, value, step=self.state.global_step)


class ProgressDisplay(keras.callbacks.Callback):
    """A progress bar over all steps with the time left; plain lines where there is no terminal."""

    def __init__(self, state: RunState, total_steps: int, shown: bool = True):
        super().__init__()
        self.console = Console(file=sys.stderr, quiet=not shown)
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
        """After a step: one more done."""
        done, now = self.state.global_step, time.monotonic()
        text = f"epoch {self.state.epoch + 1}, loss {float(logs['loss']):.4f}"
        self.bar.update(self.row, completed=done, description=text)
        if self.bar.disable and now - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = now
            per_step = (now - self.started) / (done - self.first_step)
            left = per_step * (self.total_steps - done)
            self.say(f"{text}, step {done} of {self.total_steps}, {left:.0f} s left")

    def track(self, batches: tf.data.Dataset) -> Iterable:
        """The batches of a pass that computes states, with a row of its own while it lasts."""
        row = self.bar.add_task("features", total=len(batches))
        yield from self.bar.track(batches, task_id=row)
        self.bar.remove_task(row)

    def say(self, text: str) -> None:
        """Prints a line above the bar."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


def plain_numbers(values: dict[str, Any]) -> dict[str, float | None]:
    """Logs as Python numbers; None for what is not finite, which JSON does not have."""
    numbers = {name: float(value) for name, value in values.items()}
    return {name: number if math.isfinite(number) else None for name, number in numbers.items()}
