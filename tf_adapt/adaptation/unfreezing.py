"""The callback that applies an adaptation: it freezes and unfreezes groups during `fit`."""

from collections.abc import Callable, Iterable
from typing import Any

import keras

from tf_adapt.adaptation.adaptations import as_adaptation
from tf_adapt.adaptation.best_weights import BestWeights
from tf_adapt.adaptation.discriminative import DiscriminativeOptimizer
from tf_adapt.adaptation.last_update import LastUpdate, all_callbacks, with_first
from tf_adapt.adaptation.phases import HEAD, Adaptation, Phase, Position
from tf_adapt.adaptation.slots import unscaled
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.refusals import nothing_learns
from tf_adapt.errors import ConfigError


class Unfreezing(LastUpdate):
    """Makes the layer groups trainable that an adaptation names for each epoch or step.

    At each change of phase the train step is rebuilt: frozen groups of the encoder run in inference
    mode, and no gradient is computed below the lowest trainable group. The optimizer is built over
    all weights that are ever trainable, and keeps the slots of all groups.

    If the adaptation has `patience`, a phase ends early after that many epochs without a better
    score. At the end of each phase the weights of the best epoch so far are restored, with the
    optimizer's slots at that time: their moments belong to those weights, and a group unfrozen
    later starts as with a new optimizer. The optimizer's `iterations` and learning rate are not
    restored, so schedules continue. Gradients that one of Keras' optimizers has accumulated
    (`gradient_accumulation_steps`) are dropped, because they belong to other weights.

    They are restored at the end of the phase's last epoch: later callbacks get them there, and so
    does a `fit` that ends with that epoch.

    A `fit` from epoch 0 restarts the phases.

    If a phase begins between two updates of an optimizer that accumulates gradients, a newly
    unfrozen group has gradients of fewer batches. `DiscriminativeOptimizer` averages over these,
    and at the end of an epoch over the last ones; Keras' optimizers divide by the number of all
    batches, and go on with the next epoch's.

    `fit` of a model from `build_model` adds this callback for the adaptation that the model was
    built with, unless the callbacks have one for its encoder.

    A `.keras` file saved before the last phase can be loaded and trained on with
    `fit(initial_epoch=…)`. A model from `build_model` needs nothing else; any other model needs a
    new callback on the loaded encoder, and to be compiled with a `DiscriminativeOptimizer`, which
    saves the slots of frozen groups too. With `patience` pass a callback in either case and set its
    `position`; earlier epochs are then not candidates for the best one.

    Args:
        encoder: the `HubEncoder` of the model. All other weights that are trainable when `fit`
            begins, or that the optimizer was built over, are the group "head".
        adaptation: a name, or the result of a function of `tf_adapt.adaptation.adaptations`.
        monitor: name of the score in an epoch's logs, used with `patience`. None: the training loop
            passes the score to `end_epoch`.
        mode: "min" or "max": which scores are better.
        step: returns the number of the next step; by default the optimizer's `iterations`.
        say: called with a line of text at each change of phase.
        best: keeps the best weights; by default in memory.

    Attributes:
        position: the current phase.

    Raises:
        ConfigError: in `fit`: the adaptation does not fit the encoder, the optimizer was built
            before without a weight that is to be trained, or the score is missing.
    """

    def __init__(
        self,
        encoder: HubEncoder,
        adaptation: str | Adaptation,
        monitor: str | None = "val_loss",
        mode: str = "min",
        step: Callable[[], int] | None = None,
        say: Callable[[str], None] | None = None,
        best: BestWeights | None = None,
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
        self.best = best or BestWeights()

    @property
    def phases(self) -> list[Phase]:
        """The phases of this training."""
        return self.adaptation.phases(group_names(self.encoder))

    @property
    def in_last_phase(self) -> bool:
        """Whether the current phase is the last."""
        return self.position.phase == len(self.phases) - 1

    def on_train_begin(self, logs=None):
        """Builds the optimizer over all weights that are ever trainable, before any is frozen."""
        optimizer = unscaled(self.model.optimizer)
        if self._head is None:
            inside = {id(weight) for weight in self.encoder.weights}
            # A head that an earlier adaptation left frozen is among the optimizer's weights.
            built = optimizer._trainable_variables if optimizer.built else ()
            learning = {id(weight) for weight in (*self.model.trainable_weights, *built)}
            self._head = [w for w in self.model.weights if id(w) in learning - inside]
        ever = self.adaptation.ever_trained(group_names(self.encoder))
        groups = [*self.encoder.layer_groups, (HEAD, self._head)]
        trained = {name: weights for name, weights in groups if name in ever}
        all_trained = in_order_of(self.model, trained.values())
        with self.model.distribute_strategy.scope():
            if not self.model.optimizer.built:
                self.model.optimizer.build(all_trained)
            elif isinstance(optimizer, DiscriminativeOptimizer):  # a loaded one: built over a part
                optimizer.build(all_trained)
        known = {id(weight) for weight in optimizer._trainable_variables}
        for name, weights in trained.items():
            if not {id(weight) for weight in weights} <= known:
                raise ConfigError(
                    f"adaptation: {self.adaptation.name} trains {name}, but the optimizer was "
                    "built before, without it; compile the model with a new optimizer, or with a "
                    "DiscriminativeOptimizer, which takes weights later too"
                )
        if not self._is_applied():
            self._applied = None

    def on_epoch_begin(self, epoch, logs=None):
        """Applies the phase of an epoch."""
        if epoch == 0:
            self.position = Position()
            self.best.forget_all()
        if self.adaptation.unit == "epochs":
            self._enter(epoch)

    def on_train_batch_begin(self, batch, logs=None):
        """Applies the phase of a step."""
        if self.adaptation.unit == "steps":
            optimizer = self.model.optimizer
            self._enter(self.step() if self.step else int(optimizer.iterations.numpy()))

    def on_epoch_end(self, epoch, logs=None):
        """With `patience`: keeps the best weights, and ends the phase when patience runs out."""
        super().on_epoch_end(epoch, logs)
        patience = self.adaptation.patience
        if patience is None or self.monitor is None:
            return
        if self.monitor not in (logs or {}):
            raise ConfigError(
                f"monitor: expected one of {', '.join(logs or ()) or 'the logs'}, got "
                f"{self.monitor!r}; give fit validation_data, or name another score"
            )
        self.end_epoch(epoch, float(logs[self.monitor]) * (1 if self.mode == "max" else -1))

    def end_epoch(self, epoch: int, score: float) -> bool:
        """Keeps the best weights; with `patience`, ends the phase when patience or length runs out.

        The next phase starts from the best weights so far.

        Args:
            epoch: the epoch that has ended, from 0.
            score: its score, higher is better.

        Returns:
            Whether the next phase begins.
        """
        patience = self.adaptation.patience
        if self.best.is_better(score):
            # In the last phase they are never restored.
            comes_back = patience is not None and not self.in_last_phase
            self.best.keep(epoch, score, self.model, comes_back)
        if patience is None or self.in_last_phase:
            return False
        phase, since = self.position.phase, self.position.since
        is_exhausted = epoch - max(self.best.epoch, since - 1) >= patience
        if not is_exhausted and self.position.at(self.phases, epoch + 1) == self.position:
            return False
        self.position = Position(phase + 1, epoch + 1)
        self.best.restore(self.model)
        if self.in_last_phase:
            self.best.release()
        return True

    def _enter(self, time: int) -> None:
        phases = self.phases
        # If no phase can end early, the phase depends on the time alone, in a second `fit` too.
        start = Position() if self.adaptation.patience is None else self.position
        self.position = position = start.at(phases, time)
        if phases[position.phase] != self._applied:
            self._apply(phases[position.phase])

    def _apply(self, phase: Phase) -> None:
        self.encoder.set_trainable_groups([name for name in phase.groups if name != HEAD])
        for weight in self._head:
            weight.trainable = HEAD in phase.groups
        # Keras fixes the trainable weights when it traces the step.
        if hasattr(self.model, "use_step"):
            self.model.use_step()
        else:
            self.model.make_train_function(force=True)
        self._applied = phase
        self.say(f"now training: {', '.join(phase.groups)}")

    def _is_applied(self) -> bool:
        """Whether the trainable groups are still exactly those of the applied phase."""
        if self._applied is None:
            return False
        named = self._applied.groups
        groups = {name for name, weights in self.encoder.layer_groups if weights and name in named}
        head = all(weight.trainable == (HEAD in named) for weight in self._head)
        return head and set(self.encoder.trainable_groups) == groups


def with_unfreezing(callbacks: Any, unfreezing: Unfreezing) -> Any:
    """The callbacks of a `fit`, with `unfreezing` first unless one is for the same encoder.

    Args:
        callbacks: as `fit` takes them: None, one, a nested structure, or a `CallbackList`.
    """
    given = [callback for callback in all_callbacks(callbacks) if isinstance(callback, Unfreezing)]
    if any(callback.encoder is unfreezing.encoder for callback in given):
        return callbacks
    return with_first(callbacks, unfreezing)


def in_order_of(model: keras.Model, groups: Iterable[list[keras.Variable]]) -> list:
    """The weights of these groups in the model's order, which is the order of their slots."""
    wanted = {id(weight) for weights in groups for weight in weights}
    return [weight for weight in model.weights if id(weight) in wanted]


def make_trainable(encoder: HubEncoder, adaptation: Adaptation) -> None:
    """Gives an encoder what an adaptation adds, makes all groups trainable that it ever trains, and
    freezes the others.

    Raises:
        ConfigError: the adaptation does not fit the encoder, or trains groups of an encoder with
            `trainable=False`, or of one in which nothing can learn.
    """
    if adaptation.trains_encoder and not encoder.layer_groups:
        raise ConfigError(nothing_learns(encoder.handle, encoder.family, encoder.execution))
    if adaptation.added is not None:
        encoder.add(adaptation.added)
    trained = [name for name in adaptation.ever_trained(group_names(encoder)) if name != HEAD]
    if trained and not encoder.trainable:
        raise ConfigError(
            f"adaptation: {adaptation.name} needs an encoder with trainable=True, got "
            "trainable=False"
        )
    encoder.set_trainable_groups(trained)


def group_names(encoder: HubEncoder) -> list[str]:
    """Names of the adaptable groups of a model on this encoder, bottom to top, "head" last."""
    return [*encoder.adaptable_groups, HEAD]
