"""The callback that applies an adaptation: it freezes and unfreezes groups while `fit` runs."""

import math
from collections.abc import Callable

import keras

from tf_adapt.adaptation import HEAD, Adaptation, Phase, Position, as_adaptation
from tf_adapt.encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.optimizers import DiscriminativeOptimizer
from tf_adapt.slots import drop_partial_sums, slots_of, unscaled


class Unfreezing(keras.callbacks.Callback):
    """Lets the layer groups learn that an adaptation names for each epoch or step.

    At each change of phase the train step is built anew: frozen groups of the encoder run in
    inference mode, and no gradient is computed below the lowest group that trains. The optimizer
    stays, with the slots of all groups: it is built over all weights that are ever to train.

    With a patience in the adaptation, a phase ends early after that many epochs without a better
    score, and at each end of a phase the weights of the best epoch so far come back, and with them
    the optimizer's slots as they were then: moments are averages of the gradients at the weights
    that led there, and a group that had not learned by then is as new again. What counts time goes
    on: the optimizer's `iterations`, with them every schedule, and the learning rate. Gradients
    that were summed up (`gradient_accumulation_steps`) are dropped, being those of other weights.

    Where a phase begins between two updates of an optimizer that accumulates, a group that joins
    begins with the mean of fewer batches; Keras' own optimizers divide that by all of them.

    A `.keras` file saved in the middle of a schedule goes on, once it is loaded, in
    `fit(initial_epoch=…)` with a new callback on the loaded encoder, where the model is compiled
    with a `DiscriminativeOptimizer`: the slots of the frozen groups are in the file too. With a
    patience set the callback's `position`; the best epoch is then one of those to come.

    Args:
        encoder: the `HubEncoder` of the model. What else is trainable when `fit` begins, or known
            to the optimizer, is the group "head".
        adaptation: a name, or what a function of `tf_adapt.adaptation` gives.
        monitor: name of the score in the logs of an epoch, used with a patience. None: whoever
            trains ends phases early by itself, with `end_phase`.
        mode: "min" or "max": which scores are better.
        step: gives the number of the step to come; by default the optimizer's `iterations`.
        say: gets a line of text at each change of phase.

    Attributes:
        position: where the training stands in the phases.

    Raises:
        ConfigError: in `fit`: the adaptation does not fit the encoder, the optimizer was built
            before, without a weight that is to train, or the score is missing.
    """

    def __init__(
        self,
        encoder: HubEncoder,
        adaptation: str | Adaptation,
        monitor: str | None = "val_loss",
        mode: str = "min",
        step: Callable[[], int] | None = None,
        say: Callable[[str], None] | None = None,
    ):
        super().__init__()
        if mode not in ("min", "max"):
            raise ConfigError(f"mode: expected min or max, got {mode!r}")
        self.encoder = encoder
        self.adaptation = as_adaptation(adaptation)
        self.monitor, self.mode = monitor, mode
        self.step = step
        self.say = say or (lambda line: None)
        self.position = Position()
        self._applied: Phase | None = None
        self._head: list[keras.Variable] | None = None
        self._best = {"score": -math.inf, "epoch": -1, "values": None}

    @property
    def phases(self) -> list[Phase]:
        """The phases of this training."""
        return self.adaptation.phases(groups_of(self.encoder))

    @property
    def in_last_phase(self) -> bool:
        """Whether no phase comes after the present one."""
        return self.position.phase == len(self.phases) - 1

    def on_train_begin(self, logs=None):
        """Builds the optimizer over all that is ever to train, before anything is frozen."""
        optimizer = unscaled(self.model.optimizer)
        if self._head is None:
            inside = {id(weight) for weight in self.encoder.weights}
            # A head that an earlier schedule has left frozen is known to the optimizer.
            built = optimizer._trainable_variables if optimizer.built else ()
            learning = {id(weight) for weight in (*self.model.trainable_weights, *built)}
            self._head = [w for w in self.model.weights if id(w) in learning - inside]
        ever = self.adaptation.ever_trained(groups_of(self.encoder))
        groups = [*self.encoder.layer_groups, (HEAD, self._head)]
        trained = {name: weights for name, weights in groups if name in ever}
        all_trained = [weight for weights in trained.values() for weight in weights]
        with self.model.distribute_strategy.scope():
            if not self.model.optimizer.built:
                self.model.optimizer.build(all_trained)
            elif isinstance(optimizer, DiscriminativeOptimizer):  # of a file: over a part
                optimizer.build(all_trained)
        known = {id(weight) for weight in optimizer._trainable_variables}
        for name, weights in trained.items():
            if not {id(weight) for weight in weights} <= known:
                raise ConfigError(
                    f"adaptation: {self.adaptation.name} trains {name}, but the optimizer was "
                    "built before, without it; compile the model with a new optimizer, or with a "
                    "DiscriminativeOptimizer, which takes weights later too"
                )

    def on_epoch_begin(self, epoch, logs=None):
        """Applies the phase of an epoch."""
        if self.adaptation.unit == "epochs":
            self._enter(epoch)

    def on_train_batch_begin(self, batch, logs=None):
        """Applies the phase of a step."""
        if self.adaptation.unit == "steps":
            optimizer = self.model.optimizer
            self._enter(self.step() if self.step else int(optimizer.iterations.numpy()))

    def on_epoch_end(self, epoch, logs=None):
        """With a patience: keeps the best weights, and ends the phase when it has run out."""
        patience = self.adaptation.patience
        if patience is None or self.monitor is None:
            return
        if self.monitor not in (logs or {}):
            raise ConfigError(
                f"monitor: expected one of {', '.join(logs or ()) or 'the logs'}, got "
                f"{self.monitor!r}; give fit validation_data, or name another score"
            )
        score = float(logs[self.monitor]) * (1 if self.mode == "max" else -1)
        if score > self._best["score"]:
            values = None  # in the last phase they would never come back
            if not self.in_last_phase:
                values = [variable.numpy() for variable in self._coming_back()]
            self._best = {"score": score, "epoch": epoch, "values": values}
        if self.is_exhausted(self._best["epoch"], epoch):
            self.end_phase(epoch + 1)

    def is_exhausted(self, best_epoch: int, epoch: int) -> bool:
        """Whether the phase ends after an epoch, for the best one lies `patience` back."""
        waited = epoch - max(best_epoch, self.position.since - 1)
        patience = self.adaptation.patience
        return patience is not None and not self.in_last_phase and waited >= patience

    def end_phase(self, epoch: int) -> None:
        """Lets the next phase begin with an epoch."""
        self.position = Position(self.position.phase + 1, epoch)
        self._restore_best()

    def _enter(self, time: int) -> None:
        phases = self.phases
        # Where no phase can end early, the time alone decides, in a second `fit` too.
        start = Position() if self.adaptation.patience is None else self.position
        position = start.at(phases, time)
        is_new = position.phase != self.position.phase
        self.position = position
        if is_new and self.adaptation.patience is not None:
            self._restore_best()
        if phases[position.phase] != self._applied:
            self._apply(phases[position.phase])

    def _apply(self, phase: Phase) -> None:
        self.encoder.set_trainable_groups([name for name in phase.groups if name != HEAD])
        for weight in self._head:
            weight.trainable = HEAD in phase.groups
        # Keras fixes what trains when it traces the step.
        if hasattr(self.model, "use_step"):
            self.model.use_step()
        else:
            self.model.make_train_function(force=True)
        self._applied = phase
        self.say(f"now training: {', '.join(phase.groups)}")

    def _coming_back(self) -> list[keras.Variable]:
        return [*self.model.weights, *slots_of(self.model.optimizer)]

    def _restore_best(self) -> None:
        if self._best["values"] is not None:
            for variable, value in zip(self._coming_back(), self._best["values"], strict=True):
                variable.assign(value)
            drop_partial_sums(self.model.optimizer)
        if self.in_last_phase:
            self._best["values"] = None


def make_trainable(encoder: HubEncoder, adaptation: Adaptation) -> None:
    """Lets all groups learn that an adaptation ever trains, and freezes the others.

    Raises:
        ConfigError: the adaptation does not fit the encoder, or wants a frozen one to learn.
    """
    trained = [name for name in adaptation.ever_trained(groups_of(encoder)) if name != HEAD]
    if trained and not encoder.trainable:
        raise ConfigError(
            f"adaptation: {adaptation.name} needs an encoder with trainable=True, got "
            "trainable=False"
        )
    encoder.set_trainable_groups(trained)


def groups_of(encoder: HubEncoder) -> list[str]:
    """The layer groups of a model on this encoder, bottom to top, as adaptations take them."""
    return [*encoder.adaptable_groups, HEAD]
