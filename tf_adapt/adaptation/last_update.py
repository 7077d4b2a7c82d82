"""The update of an epoch's last batches, where an optimizer accumulates gradients."""

from typing import Any

import keras

from tf_adapt.adaptation.slots import unscaled


class LastUpdate(keras.callbacks.Callback):
    """At the end of each epoch, before its evaluation, calls `update_rest` of the optimizer.

    Keras' optimizers have no such method: theirs go on with the next epoch's batches.
    """

    def on_test_begin(self, logs=None):
        """Makes the update before an epoch's evaluation."""
        self._update()

    def on_epoch_end(self, epoch, logs=None):
        """Makes the update of an epoch that is not evaluated."""
        self._update()

    def _update(self) -> None:
        optimizer = unscaled(self.model.optimizer)
        if hasattr(optimizer, "update_rest"):
            optimizer.update_rest()


def with_last_update(callbacks: Any, optimizer: keras.optimizers.Optimizer | None) -> Any:
    """The callbacks of a `fit`, with a `LastUpdate` first if the optimizer accumulates gradients.

    Args:
        callbacks: as `fit` takes them.
    """
    given = all_callbacks(callbacks)
    is_there = bool(given) and isinstance(given[0], LastUpdate)
    if is_there or not getattr(unscaled(optimizer), "gradient_accumulation_steps", None):
        return callbacks
    return with_first(callbacks, LastUpdate())


def with_first(callbacks: Any, first: keras.callbacks.Callback) -> Any:
    """The callbacks of a `fit`, with this one before them; a `CallbackList` is changed itself."""
    if isinstance(callbacks, keras.callbacks.CallbackList):  # Keras uses the list itself
        first.set_model(callbacks.model)
        callbacks.callbacks.insert(0, first)
        return callbacks
    return [first, *all_callbacks(callbacks)]


def all_callbacks(callbacks: Any) -> list[keras.callbacks.Callback]:
    """All callbacks in what `fit` takes: None, one, a nested structure, or a `CallbackList`."""
    is_list = isinstance(callbacks, keras.callbacks.CallbackList)
    given = keras.tree.flatten(callbacks.callbacks if is_list else callbacks)
    return [callback for callback in given if callback is not None]
