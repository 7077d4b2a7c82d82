"""The callback that counts the steps of a run and handles signals between steps."""

import keras

from tf_adapt.runs import checkpoints
from tf_adapt.runs.interruption import leave
from tf_adapt.training.run import Run
from tf_adapt.training.state import save_state


class Steps(keras.callbacks.Callback):
    """Counts steps, restores the metrics of an interrupted epoch, saves and exits on signals."""

    def __init__(self, run: Run):
        super().__init__()
        self.run = run
        # `fit` resets the metrics at the start of an epoch, even of a resumed one.
        goes_on = 0 < run.state.step < run.state.steps_of_epoch
        self.metrics_before = (
            checkpoints.to_arrays(run.model.metrics_variables) if goes_on else None
        )

    def on_epoch_begin(self, epoch, logs=None):
        """Restores the metrics of a resumed epoch."""
        if self.metrics_before is not None:
            variables = self.run.model.metrics_variables
            checkpoints.assign(variables, self.metrics_before, "metrics")
            self.metrics_before = None

    def on_train_batch_end(self, batch, logs=None):
        """Counts the step; saves and exits if a signal was received."""
        state = self.run.state
        state.step += 1
        # Several processes cannot agree on a step to stop after: they resume from the last epoch.
        self.run.interruption.unsaved = not self.run.settings.in_several_processes
        if state.step < state.steps_of_epoch:  # after the last one, the epoch's logs come first
            self._obey()

    def on_test_batch_end(self, batch, logs=None):
        """Saves and exits if a signal was received during evaluation."""
        self._obey()

    def _obey(self) -> None:
        run = self.run
        if run.interruption.requested is not None:
            save_state(run.checkpoints, run.state, run.model, run.writes)
            leave(run.interruption.requested)
