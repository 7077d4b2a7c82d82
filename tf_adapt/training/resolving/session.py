"""Reuse of data, model and traced graphs by several runs of one process.

Runs that differ only in seed and learning rate use the same graphs; only the values of variables
differ. The next run copies these values from a newly built model, so that its results are bitwise
those of a run in a process of its own.
"""

import gc
from dataclasses import replace

import keras

from tf_adapt.adaptation.unfreezing import make_trainable
from tf_adapt.config.checks import adaptation_of
from tf_adapt.config.reading import without_trial
from tf_adapt.config.sections import Config
from tf_adapt.data.packing.prepare import task_of
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.runs.finished_run import FinishedRun
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.resolving.build import Parts, build_parts, prepared_splits
from tf_adapt.training.resolving.warm_start import started_model
from tf_adapt.training.results.memory import forget_peak
from tf_adapt.training.state import copy_state


class Session:
    """Returns the data and model of each run; those of the previous run, traced already, if only
    seed, learning rate and fold differ."""

    def __init__(self):
        self._config: Config | None = None
        self._parts: Parts | None = None

    def parts(self, config: Config, start: FinishedRun | None = None) -> Parts:
        """The parts of a run, with variables as in a newly built model.

        Data or module that have changed since the previous run are read again. Set Keras' random
        seed directly before the call.

        Args:
            start: as in `build_parts`.

        Raises:
            ConfigError, DataError, ArtifactError: as `build_parts`.
        """
        parts = self._parts_before(config, start)
        if parts is None:
            self._forget()
            parts = build_parts(config, start)
        if _changes_variables_only(config, parts.model):
            self._config, self._parts = _shared(config), parts
        return parts

    def _parts_before(self, config: Config, start: FinishedRun | None) -> Parts | None:
        parts = self._parts
        if self._config is None or self._config != _shared(config):
            return None
        splits = load_splits(config.data, config.weak)
        if splits != parts.splits:
            # Weights of labels are counted in train.
            counted = config.training.class_weight is not None
            if not splits.pool or counted or task_of(splits) != parts.model.task:
                return None
            data = prepared_splits(config, splits, parts.model.encoder)
            parts = self._parts = replace(parts, splits=splits, data=data)
        new = started_model(config, parts.model.task, start)
        if new.encoder.module_hash != parts.model.encoder.module_hash:
            keras.utils.set_random_seed(config.training.seed)
            return None
        copy_state(new, parts.model)
        del new
        gc.collect()
        forget_peak()
        if config.adaptation.trains_encoder:
            make_trainable(parts.model.encoder, adaptation_of(config.adaptation))
        for weight in parts.ever_trained:  # the previous run may have left the head frozen
            weight.trainable = True
        if parts.start is not None:
            parts.start.move_here()
        return parts

    def _forget(self) -> None:
        if self._parts is not None:
            self._config = self._parts = None
            gc.collect()  # a model has reference cycles; two models need twice the memory


def _shared(config: Config) -> Config:
    """What the runs of a process have in common: all but seed, learning rate, the end of a bad
    trial, and fold."""
    config = without_trial(config)
    training = config.training.model_copy(update={"stop_below": None})
    config = config.model_copy(update={"training": training})
    if config.data is None or getattr(config.data, "fold", None) is None:
        return config
    fold = config.data.fold.model_copy(update={"leave_out": None, "seed": 0})
    data = config.data.model_copy(update={"fold": fold})
    return config.model_copy(update={"data": data})


def _changes_variables_only(config: Config, model: AdaptedModel) -> bool:
    """Whether a run changes only values of variables in its parts.

    Not so for several tasks, on several devices, with the module's own program, with auxiliary
    losses and language models, which have their own state, with a teacher, and with a Fisher
    information read from a file.
    """
    return (
        config.tasks is None
        and config.training.strategy is None
        and config.training.devices is None
        and model.encoder.execution == "native"
        and KINDS[model.task.kind].head_encoder(model) is not None
        and config.penalties.ewc is None
        and config.teacher is None
    )
