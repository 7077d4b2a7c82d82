"""A model on a `HubEncoder` whose `fit` applies the phases of an adaptation."""

import contextlib
import functools
import inspect
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hub_modules.native.untracked import Untracked
from tf_adapt.adaptation.last_update import with_last_update
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.adaptation.unfreezing import Unfreezing, group_names, with_unfreezing
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.standardising import standardise
from tf_adapt.models.train_steps import TrainSteps
from tf_adapt.tasks.class_weights import Given


def refuse_texts(method: str, x: Any) -> None:
    """Refuses texts and labels as they are, in place of the batches that a model reads.

    Raises:
        ConfigError: `x` is a text, a list, an array of texts, a column or a frame.
    """
    is_array_of_texts = isinstance(x, np.ndarray) and x.dtype.kind in "OUS"
    given = isinstance(x, str | list | tuple) or hasattr(x, "to_dict")
    if not (given or is_array_of_texts):
        return
    better = "ta.predict(model, texts), or " if method == "predict" else ""
    data = "texts" if method == "predict" else "(texts, labels)"
    raise ConfigError(
        f"model.{method}: expected batches of token ids, got {type(x).__name__}; write {better}"
        f"model.{method}(ta.batches({data}, model.task, model.encoder))"
    )


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

    def end_epoch(self, prepared: PreparedData) -> None:
        """After the steps of an epoch, before its evaluation; for what gradients do not train.

        Args:
            prepared: the training examples.
        """

    @functools.wraps(keras.Model.predict)
    def predict(self, x, *args, **kwargs):
        refuse_texts("predict", x)
        return super().predict(x, *args, **kwargs)

    @functools.wraps(keras.Model.fit)
    def fit(self, *args, **kwargs):
        given = inspect.signature(keras.Model.fit).bind(self, *args, **kwargs).arguments
        refuse_texts("fit", given.get("x"))
        if self._has_phases():
            given["callbacks"] = with_unfreezing(
                given.get("callbacks"), self._own_unfreezing(given.get("verbose", "auto"))
            )
        given["callbacks"] = with_last_update(given.get("callbacks"), self.optimizer)
        given.pop("self")
        split = given.get("validation_split") if given.get("validation_data") is None else None
        standardise(self, given.get("x"), given.get("steps_per_epoch"), split or 0.0)
        weighing = self.weighted(given.pop("class_weight", None), given.get("x"))
        if isinstance(given.get("x"), tf.data.Dataset):
            given["shuffle"] = False  # the dataset has its order; Keras warns about its default
        with weighing:
            return super().fit(**given)

    def weighted(self, given: Given | None, examples) -> contextlib.AbstractContextManager:
        """With `class_weight` in `fit`, the model in the body trains with these weights.

        Raises:
            ConfigError: weights, which a model of several tasks does not have.
        """
        if given:
            raise ConfigError(
                "class_weight: expected none for several tasks; give sample_weight with the "
                "examples instead"
            )
        return contextlib.nullcontext()

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
