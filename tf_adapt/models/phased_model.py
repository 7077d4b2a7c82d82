"""A model on a `HubEncoder` whose `fit` applies the phases of an adaptation."""

import functools
import inspect

import keras
import tensorflow as tf

from hub_modules.native.untracked import Untracked
from tf_adapt.adaptation.last_update import with_last_update
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.adaptation.unfreezing import Unfreezing, group_names, with_unfreezing
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.kinds import KINDS, kinds_with
from tf_adapt.models.train_steps import TrainSteps
from tf_adapt.tasks.task import Task


class PhasedModel(TrainSteps):
    """A model with an encoder and an adaptation.

    Args:
        encoder: a `HubEncoder`.
        adaptation: its phases are applied in `fit`; None: all trainable weights are trained.
    """

    def __init__(self, encoder: HubEncoder, adaptation: Adaptation | None = None, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.adaptation = adaptation
        self._unfreezing = Untracked(None)

    def _ever_trained(self) -> list[list[keras.Variable]]:
        """The trainable weights, and those of all groups that the adaptation ever trains."""
        if self.adaptation is None:
            return [self.trainable_weights]
        ever = self.adaptation.ever_trained(group_names(self.encoder))
        groups = [weights for name, weights in self.encoder.layer_groups if name in ever]
        return [*groups, self.trainable_weights]

    @functools.wraps(keras.Model.fit)
    def fit(self, *args, **kwargs):
        given = inspect.signature(keras.Model.fit).bind(self, *args, **kwargs).arguments
        if self._has_phases():
            given["callbacks"] = with_unfreezing(
                given.get("callbacks"), self._own_unfreezing(given.get("verbose", "auto"))
            )
        given["callbacks"] = with_last_update(given.get("callbacks"), self.optimizer)
        given.pop("self")
        if given.get("class_weight"):
            _check_class_weight(getattr(self, "task", None))
        if isinstance(given.get("x"), tf.data.Dataset):
            given["shuffle"] = False  # the dataset has its order; Keras warns about its default
        return super().fit(**given)

    def _has_phases(self) -> bool:
        return self.adaptation is not None and (
            len(self.adaptation.phases(group_names(self.encoder))) > 1
        )

    def _own_unfreezing(self, verbose) -> Unfreezing:
        """This model's callback, the same in each `fit`, because it may have frozen the head."""
        holder = self._unfreezing
        if holder.value is None:
            holder.value = Unfreezing(self.encoder, self.adaptation)
        name = self.adaptation.name
        holder.value.say = lambda line: print(f"{name}: {line}") if verbose else None
        return holder.value


def _check_class_weight(task: Task | None) -> None:
    """Keras weighs by the largest number on the last axis of y: by a word's place in tagging."""
    if task is None or "class_weight" not in KINDS[task.kind].options:
        fitting = kinds_with("class_weight")
        kind = "several tasks" if task is None else task.kind
        raise ConfigError(
            f"class_weight: expected none for {kind}, only for {' and '.join(fitting)}, "
            "whose examples have one class each; give sample_weight with the examples instead"
        )
