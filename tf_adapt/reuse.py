"""What a run leaves to the next one of the same process: its data, its model and the traced steps.

Runs that differ in nothing but seed and learning rate compute with the same graphs. What tells
them apart are the values of variables: the next run takes those of a model that is built anew, so
that its numbers are, bit by bit, those that it would have in a process of its own.
"""

import gc
from dataclasses import dataclass

import keras

from tf_adapt.compiling import compiled_model
from tf_adapt.config import adaptation_of, without_trial
from tf_adapt.config_sections import Config
from tf_adapt.data.batches import PreparedData
from tf_adapt.data.splits import Splits, load_splits
from tf_adapt.memory import forget_peak
from tf_adapt.model import AdaptedModel
from tf_adapt.run_state import copy_state
from tf_adapt.starting_point import StartingPoint
from tf_adapt.unfreezing import make_trainable


@dataclass(frozen=True)
class Parts:
    """What runs that differ in seed and learning rate alone have in common.

    Attributes:
        start: the pretrained weights, where any learn.
        data: as prepared, without the features of a frozen encoder.
    """

    splits: Splits
    model: AdaptedModel
    ever_trained: list[keras.Variable]
    start: StartingPoint | None
    data: dict[str, PreparedData]


class Reuse:
    """Keeps the parts of a process's last run, for one that differs in seed and rate alone."""

    def __init__(self):
        self._config: Config | None = None
        self._parts: Parts | None = None

    def keep(self, config: Config, parts: Parts) -> None:
        """Keeps the parts of a run in place of those before, unless a run changes more of them than
        the values of variables."""
        if _changes_variables_only(config, parts.model):
            self._config, self._parts = without_trial(config), parts

    def parts(self, config: Config) -> Parts | None:
        """The parts that fit a run, their variables as if they were new; None where none fit.

        None too where the texts or the module are no longer those that were read. Call it where the
        parts would be built, Keras' random seed just set; so it is again afterwards.
        """
        if self._config != without_trial(config) or load_splits(config.data) != self._parts.splits:
            return self._forget()
        model, start = self._parts.model, self._parts.start
        new = compiled_model(config, model.task)
        if new.encoder.module_hash != model.encoder.module_hash:
            keras.utils.set_random_seed(config.training.seed)
            return self._forget()
        copy_state(new, model)
        del new
        gc.collect()
        forget_peak()
        if config.adaptation.name != "feature_extraction":
            make_trainable(model.encoder, adaptation_of(config.adaptation))
        for weight in self._parts.ever_trained:  # the last phase may have left the head frozen
            weight.trainable = True
        if start is not None:
            start.move_here()
        return self._parts

    def _forget(self) -> None:
        self._config = self._parts = None
        gc.collect()  # a model is full of cycles, and two would need twice the memory


def _changes_variables_only(config: Config, model: AdaptedModel) -> bool:
    """Whether a run leaves nothing but values of variables in its parts.

    More is changed on several devices, in a foreign program, where an auxiliary loss keeps its own
    state, and where a Fisher information is read from a file.
    """
    return (
        config.training.strategy is None
        and config.training.devices is None
        and model.encoder.execution == "native"
        and not model.auxiliaries
        and config.penalties.ewc is None
        and not model.task.is_language_model
    )
