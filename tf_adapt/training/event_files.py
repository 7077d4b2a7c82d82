"""TensorBoard's event files of a run: scalars of train and dev, config, hyperparameters."""

import math
import textwrap
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.hparams import api as hparams
from tensorboard.plugins.scalar.metadata import PLUGIN_NAME as SCALARS

from tf_adapt.encoder.starting_point import StartingPoint
from tf_adapt.training.plan import groups_with_weights
from tf_adapt.training.state import RunState

TRAIN, DEV = "train", "dev"
SCALARS_PER_RUN = 200
# Norms need all weights, so they are written less often.
NORMS_PER_RUN = 40


class Scalars(keras.callbacks.Callback):
    """Writes event files of train and dev, two runs in TensorBoard's charts.

    After each epoch: loss and metrics of both under the same tags; for dev also `best/METRIC`, the
    score of the best weights so far. Between, for train: `running/…`, means since the start of the
    epoch; the gradient's norm; and for each trainable group the learning rate and the norm of the
    step's update; and the distance of the encoder's groups from the pretrained weights. A group
    that is frozen at a step has no rate and no update there.

    Args:
        folder: parent of the folders `train` and `dev`.
        state: of the run, for the step.
        total_steps: of the whole run; about `SCALARS_PER_RUN` of them are written.
        start: the pretrained weights, for the distances; None if no encoder group is ever trained.
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
        self.writers: dict[str, tf.summary.SummaryWriter] = {}

    def describe(self, config: str, hyperparameters: dict[str, Any]) -> None:
        """Writes config and hyperparameters; first removes points after the state's step.

        A resumed run writes those points again.

        Args:
            config: YAML, written to train as the text `config`.
            hyperparameters: a session of the HPARAMS tab, whose metrics are the scalars of dev.
        """
        for name in (TRAIN, DEV):
            _forget(self.folder / name, self.state.global_step)
        with self._writer(TRAIN).as_default():
            # Indented as code, because fenced text may itself contain a fence.
            tf.summary.text("config", textwrap.indent(config, "    "), step=0)
        with self._writer(DEV).as_default(step=0):
            # Unique, so that runs with equal hyperparameters are not merged.
            hparams.hparams(hyperparameters, trial_id=str(self.folder.parent))
        self._flush()

    def on_train_batch_begin(self, batch, logs=None):
        """Copies the weights before a step whose update norm is written."""
        if (self.state.global_step + 1) % self.norms_every == 0:
            self.before = {
                name: [tf.identity(weight.value) for weight in weights if weight.trainable]
                for name, weights in groups_with_weights(self.model)
            }

    def on_train_batch_end(self, batch, logs=None):
        """Writes the scalars of a step."""
        if self.state.global_step % self.every:
            return
        groups = groups_with_weights(self.model)
        learning = {name for name, weights in groups if any(w.trainable for w in weights)}
        rates = self.model.unscaled_optimizer.rates()
        known = {name: float(value) for name, value in logs.items()}
        # Undefined: a task of several that was not trained in this epoch so far.
        scalars = {f"running/{name}": known[name] for name in known if not math.isnan(known[name])}
        scalars["gradient_norm"] = float(self.model.gradient_norm.value.numpy())
        scalars |= {f"learning_rate/{name}": rates[name] for name in rates if name in learning}
        if self.state.global_step % self.norms_every == 0:
            scalars |= self._norms(dict(groups), learning)
        self._write(TRAIN, scalars)

    def _norms(self, groups: dict[str, list], learning: set[str]) -> dict[str, float]:
        norms = {}
        for name in learning & set(self.before):
            after = [weight.value for weight in groups[name] if weight.trainable]
            moved = [new - old for new, old in zip(after, self.before[name], strict=True)]
            norms[f"update_norm/{name}"] = float(tf.linalg.global_norm(moved))
        distances = {} if self.start is None else self.start.distances()
        self.before = {}
        return norms | {f"distance/{name}": value for name, value in distances.items()}

    def write_row(self, row: dict[str, Any], best: dict[str, float | None]) -> None:
        """Writes an epoch's row of the history.

        Args:
            row: training means, and dev scores as `dev_NAME`.
            best: metric → best dev score so far.
        """
        known = {name: value for name, value in row.items() if value is not None}
        dev = {name[4:]: value for name, value in known.items() if name.startswith("dev_")}
        others = ("epoch", "step", *(f"dev_{name}" for name in dev))
        self._write(TRAIN, {name: known[name] for name in known if name not in others})
        dev |= {f"best/{name}": value for name, value in best.items() if value is not None}
        self._write(DEV, dev)
        self._flush()

    def close(self) -> None:
        """Flushes and closes the event files."""
        for writer in self.writers.values():
            writer.close()

    def _flush(self) -> None:
        for writer in self.writers.values():
            writer.flush()

    def _writer(self, name: str) -> tf.summary.SummaryWriter:
        if name not in self.writers:
            self.writers[name] = tf.summary.create_file_writer(str(self.folder / name))
        return self.writers[name]

    def _write(self, name: str, scalars: dict[str, float]) -> None:
        with self._writer(name).as_default():
            for tag, value in scalars.items():
                tf.summary.scalar(tag, value, step=self.state.global_step)


def write_slices(folder: Path, scores: dict[str, dict[str, dict | None]], step: int) -> None:
    """Writes the scores of the slices at the end of a run, as `slices/NAME`, to a folder a split.

    Args:
        scores: those of `training.slices.scores_of_run`.
    """
    for split, of_split in scores.items():
        writer = tf.summary.create_file_writer(str(folder / split))
        with writer.as_default(step=step):
            for name, result in of_split.items():
                if result is not None and result["score"] is not None:
                    tf.summary.scalar(f"slices/{name}", result["score"])
        writer.close()


def _forget(folder: Path, step: int) -> None:
    """Removes everything but the scalars up to a step from event files."""
    for path in sorted(folder.glob("events.out.tfevents.*")):
        # Without "tfevents" in its name, TensorBoard does not read the partial file.
        partial = folder / ".partial"
        with tf.io.TFRecordWriter(str(partial)) as writer:
            for record in RawEventFileLoader(str(path)).Load():
                event = Event.FromString(record)
                values = event.summary.value
                scalars = all(v.metadata.plugin_data.plugin_name == SCALARS for v in values)
                if scalars and event.step <= step:
                    writer.write(record)
        partial.replace(path)
