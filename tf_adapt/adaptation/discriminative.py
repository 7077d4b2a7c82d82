"""Discriminative fine-tuning: a learning rate per layer group, with any optimizer."""

import itertools
from types import SimpleNamespace

import keras
import numpy as np
import tensorflow as tf

from tf_adapt.adaptation.fused_adam import FusedWeight, can_fuse, fused_steps
from tf_adapt.adaptation.layer_factors import decays, group_of_each, layer_factors
from tf_adapt.adaptation.own_optimizer import OwnOptimizer, number_of, path_of
from tf_adapt.adaptation.slots import SavedSlots
from tf_adapt.errors import ConfigError

# Options that apply to all weights together, so this optimizer handles them and no copy does.
JOINT = (
    "clipnorm",
    "clipvalue",
    "global_clipnorm",
    "gradient_accumulation_steps",
    "loss_scale_factor",
)


@keras.saving.register_keras_serializable("tf_adapt")
class DiscriminativeOptimizer(keras.optimizers.Optimizer):
    """Any Keras optimizer, with the rate `learning_rate · factor(group)` for each layer group.

    Every weight is updated by its own copy of `inner`, with its own slots and step counter. A
    weight that becomes trainable later starts as with a new optimizer (Adam's bias correction at
    its first step). A frozen weight keeps its slots; neither momentum, weight decay nor an average
    (EMA) changes it. The factor scales the update: Adam is invariant to the gradient's scale.

    Joint over all groups, as set in `inner`: clipping, accumulation and scaling of gradients, and
    `learning_rate`, which callbacks read and set as in any optimizer.

    Weight decay leaves out biases and the parameters of LayerNorms.

    Adam and AdamW update a float32 weight in one operation: see `tf_adapt.adaptation.fused_adam`.

    With `gradient_accumulation_steps` the update of a weight uses the mean of its gradients since
    the last update. A weight that became trainable in between has fewer of them; one that has been
    frozen since is not updated. All these gradients are taken at the same weights. The last
    batches of an epoch, if fewer, make an update too: in `fit` of a model from `build_model` and
    with the callback `Unfreezing`; in another `fit` at its end, or where a callback of yours calls
    `update_rest`.

    Create it after `build_model`, which decides what groups the head uses. Build it over every
    weight that is ever going to be trainable (`optimizer.build(weights)`; the callback `Unfreezing`
    does this); each step may then train any of them. A later `build` adds new weights. A `.keras`
    file has the slots of frozen weights too; a loaded optimizer restores them once it is built over
    these weights. (Under mixed_float16 Keras warns that it skips variables: the loss scale is
    reset.) Keras' `SwapEMAWeights` does not find the averages of this optimizer.

    Args:
        inner: the optimizer to copy; new, not built. As with any schedule in Keras, Adafactor's
            `relative_step` has no effect.
        encoder: a `HubEncoder`; its weights are identified by their current paths. All other
            weights are the group "head".
        decay: in (0, 1]: factors decay, decay², … from the highest layer group that the head uses
            downwards; head, adapters, LoRA and biases 1. Howard and Ruder use 1 / 2.6, Peters et
            al. 2019 0.4.
        factors: {group: factor >= 0} instead of `decay`; groups left out: 1. Default: all 1.

    Attributes:
        factors: group → factor, bottom to top.

    Raises:
        ConfigError: an argument is invalid, or a trainable weight is one it was not built over.

    References: Howard and Ruder 2018, "Universal Language Model Fine-tuning", section 3.2.
    """

    def __init__(
        self,
        inner: keras.optimizers.Optimizer,
        encoder,
        decay: float | None = None,
        factors: dict[str, float] | None = None,
        name: str | None = None,
    ):
        _check(inner, encoder)
        rate = inner._learning_rate
        super().__init__(
            rate if callable(rate) else number_of(rate),
            name=name,
            **{option: getattr(inner, option) for option in JOINT},
        )
        replicas = self._distribution_strategy.num_replicas_in_sync
        if replicas > 1 and (inner.gradient_accumulation_steps or inner.ema_overwrite_frequency):
            raise ConfigError(
                f"optimizer: on several devices ({replicas} here) Keras can neither accumulate "
                "gradients nor overwrite weights by averages before the end; leave out "
                "gradient_accumulation_steps and ema_overwrite_frequency, or take one device"
            )
        if inner.gradient_accumulation_steps:
            # How many batches less than these the updates at the ends of epochs had.
            self._missing = self.add_variable((), dtype="int", name="missing_batches")
        self.inner = inner
        # Read here: while a step is traced, the value of a rate cannot be read.
        self._copy_config = inner.get_config() | dict.fromkeys(JOINT)
        self._paths = {
            group: [weight.path for weight in weights]
            for group, weights in encoder.layer_groups
            if group in encoder.adaptable_groups
        }
        self._factors = layer_factors(list(self._paths), decay, factors)
        self._weights = {}
        self._saved = SavedSlots([], {})
        self._is_fused = False

    @property
    def factors(self) -> dict[str, float]:
        """The factor of each group, bottom to top."""
        return dict(self._factors)

    @property
    def slots(self) -> list[keras.Variable]:
        """Moments and averages of each weight: see `tf_adapt.adaptation.slots`."""
        return [slot for weight in self._weights.values() for slot in weight.slots]

    @property
    def groups(self) -> dict[str, list[keras.Variable]]:
        """The weights that the optimizer was built over by group, bottom to top."""
        weights = list(self._weights.values())
        by_group = {
            group: [w.variable for w in weights if w.group == group] for group in self.factors
        }
        return {group: variables for group, variables in by_group.items() if variables}

    @property
    def iterations(self):
        """The number of updates."""
        if not self.gradient_accumulation_steps:
            return self._iterations
        return self._position() // self.gradient_accumulation_steps

    def rates(self) -> dict[str, float]:
        """The current learning rate of each group, bottom to top."""
        rate = number_of(self.learning_rate)
        return {group: rate * factor for group, factor in self._factors.items()}

    def build(self, variables):
        """Creates the slots of new weights, with their values from a loaded file if it has them."""
        new = [variable for variable in variables if self._var_key(variable) not in self._weights]
        if not self.built:
            super().build([])
        paths = [path_of(variable) for variable in new]
        groups = group_of_each(paths, self._paths)
        numbers = self._saved.find(paths, groups)
        matched = list(zip(new, groups, numbers, strict=True))
        # In the file's order: a LossScaleOptimizer around this one is restored by position.
        for variable, group, number in sorted(
            matched, key=lambda row: (row[2] is None, row[2] or 0)
        ):
            self._add(variable, group, number)
        self._is_fused = can_fuse(self.inner, self._trainable_variables)

    def _add(self, variable, group: str, number: int | None) -> None:
        key = self._var_key(variable)
        self._trainable_variables_indices[key] = len(self._trainable_variables)
        self._trainable_variables.append(variable)
        sums = []
        if self.gradient_accumulation_steps:
            total = self.add_variable_from_reference(variable, name="gradient_accumulator")
            self._accumulated_gradients.append(total)
            sums = [total, self.add_variable((), dtype="int", name="accumulated_batches")]
        copy = self._copy(self._factors[group])
        self._weights[key] = OwnOptimizer(group, variable, copy, sums, number)
        # Tracked here, they are saved and restored with this optimizer's variables.
        for slot in self._weights[key].slots:
            self._track_variable(slot)
        self._weights[key].take_saved(self._saved)

    def _of(self, variable) -> OwnOptimizer:
        return self._weights[self._var_key(variable)]

    def _copy(self, factor: float) -> keras.optimizers.Optimizer:
        rate = {"learning_rate": lambda: self.learning_rate * factor}
        copy = type(self.inner).from_config(self._copy_config | rate)
        copy._use_weight_decay = self._use_weight_decay
        return copy

    def _backend_apply_gradients(self, grads, trainable_variables):
        # The gradient of an embedding has a row for each use of a word. Keras would take the norm,
        # and Adam the square, of each of these rows instead of their sum.
        dense = [tf.convert_to_tensor(gradient) for gradient in grads]
        if self.gradient_accumulation_steps:
            self._accumulate(dense, trainable_variables)
        else:
            super()._backend_apply_gradients(dense, trainable_variables)

    def _accumulate(self, grads, variables):
        """Accumulates or updates. Keras would divide by `gradient_accumulation_steps` for every
        weight, even one that was trainable in fewer of these steps."""
        sums = [self._of(variable).sums for variable in variables]

        def keep():
            self._backend_increment_gradient_accumulators(grads, [total for total, _ in sums])
            for _, batches in sums:
                batches.assign_add(1)

        def move():
            means = [
                (gradient + total) / tf.cast(batches + 1, gradient.dtype)
                for gradient, (total, batches) in zip(grads, sums, strict=True)
            ]
            self._backend_update_step(self._clip_gradients(means), variables, self.learning_rate)
            self.drop_partial_sums()

        # A step that finds no more data has no gradients, and must not reset the sums.
        with tf.control_dependencies(grads):
            is_update = (self._position() + 1) % self.gradient_accumulation_steps == 0
        keras.ops.cond(is_update, move, keep)

    def _position(self):
        """The number of batches, as if every update had all of its batches."""
        return tf.convert_to_tensor(self._iterations) + self._missing

    def update_rest(self) -> None:
        """Ends a group of fewer than `gradient_accumulation_steps` batches with its update.

        Call it between two steps; without such batches it does nothing.
        """
        steps = self.gradient_accumulation_steps
        if not steps:
            return
        missing = int(-self._position() % steps)
        # Not `missing` alone: where Keras does not know the number of batches, the step that finds
        # none counts, too.
        weights = [w for w in self._weights.values() if w.variable.trainable and int(w.sums[1])]
        if not (missing or weights):
            return
        if weights:
            # A schedule has the rate of the last batch by its number.
            self._iterations.assign_sub(1)
            self._distribution_strategy.run(self._update_with_sums, (weights,))
            self._iterations.assign_add(1)
        self.drop_partial_sums()
        self._missing.assign_add(missing)

    def _update_with_sums(self, weights: list[OwnOptimizer]) -> None:
        sums = [map(tf.convert_to_tensor, weight.sums) for weight in weights]
        means = [total / tf.cast(batches, total.dtype) for total, batches in sums]
        variables = [weight.variable for weight in weights]
        self._backend_update_step(self._clip_gradients(means), variables, self.learning_rate)
        for variable in variables:
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable))

    def drop_partial_sums(self) -> None:
        """Resets the gradients accumulated since the last update."""
        for weight in self._weights.values():
            for variable in weight.sums:
                variable.assign(keras.ops.zeros_like(variable))

    def _clip_gradients(self, grads):
        if not self.global_clipnorm:
            return super()._clip_gradients(grads)
        # Keras' version writes the squares of each gradient to an array of its size.
        return tf.clip_by_global_norm(grads, self.global_clipnorm)[0]

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        if self._is_fused:
            super()._backend_update_step(grads, trainable_variables, learning_rate)
            return
        for gradient, variable in zip(grads, trainable_variables, strict=True):
            self._of(variable).optimizer.apply([gradient], [variable])

    def _distributed_tf_update_step(self, distribution, grads_and_vars, learning_rate):
        # Read in cross-replica context, where a rate is one number for all replicas.
        rate = tf.cast(self.learning_rate, tf.float32)
        rates = {group: rate * factor for group, factor in self._factors.items()}
        shares = {}
        if self.inner.weight_decay:
            shares = {group: rate * self.inner.weight_decay for group, rate in rates.items()}
        weights = []
        for gradient, variable in grads_and_vars:
            weight = self._of(variable)
            decay = shares.get(weight.group) if self._use_weight_decay(weight.variable) else None
            weights.append(
                FusedWeight(variable, gradient, weight.optimizer, rates[weight.group], decay)
            )
        fused_steps(distribution, weights)

    def _use_weight_decay(self, variable):
        return decays(variable.name) and self.inner._use_weight_decay(variable)

    def exclude_from_weight_decay(self, var_list=None, var_names=None):
        self.inner.exclude_from_weight_decay(var_list, var_names)

    def finalize_variable_values(self, var_list):
        self.update_rest()
        for variable in var_list:
            optimizer = self._of(variable).optimizer
            if number_of(optimizer.iterations):  # before the first step its average is zero
                optimizer.finalize_variable_values([variable])

    def _check_variables_are_known(self, variables):
        unknown = [path_of(v) for v in variables if self._var_key(v) not in self._weights]
        if unknown:
            raise ConfigError(
                f"optimizer: {len(unknown)} weights learn that it was not built over "
                f"({', '.join(unknown[:3])}, …); call optimizer.build(model.trainable_weights) "
                "before anything is frozen"
            )

    def save_own_variables(self, store):
        """As in Keras; then the loaded values of weights that it has not been built over yet."""
        waiting = [self._saved.values.get(number, ()) for number in self._saved.waiting]
        values = [variable.numpy() for variable in self.variables]
        for number, value in enumerate(itertools.chain(values, *waiting)):
            store[str(number)] = value

    def load_own_variables(self, store):
        """As in Keras; weight by weight from the file whose config created this optimizer."""
        joint = len(self.variables) - sum(len(weight.own) for weight in self._weights.values())
        values = [np.asarray(store[str(number)]) for number in range(len(store.keys()))]
        if self.gradient_accumulation_steps and len(values) == joint - 1 + self._saved.count:
            values.insert(joint - 1, 0)  # version 0.2 has no `_missing`
        if self._saved.is_read or len(values) != joint + self._saved.count:
            super().load_own_variables(store)
            return
        for variable, value in zip(self.variables[:joint], values[:joint], strict=True):
            variable.assign(value)
        self._saved.read(values[joint:])
        for weight in self._weights.values():
            weight.take_saved(self._saved)

    def get_config(self) -> dict:
        base = super().get_config()
        inner = keras.saving.serialize_keras_object(self.inner)
        inner["config"] |= {option: base[option] for option in ("learning_rate", *JOINT)}
        groups = [[group, list(paths)] for group, paths in self._paths.items()]
        built = [[path_of(w.variable), w.group, len(w.own)] for w in self._weights.values()]
        waiting = [list(weight) for weight in self._saved.waiting.values()]
        return {
            "name": self.name,
            "inner": inner,
            "groups": groups,
            "factors": self.factors,
            "weights": built + waiting,
        }

    @classmethod
    def from_config(cls, config: dict, custom_objects=None) -> "DiscriminativeOptimizer":
        inner = keras.saving.deserialize_keras_object(config["inner"], custom_objects)
        groups = [
            (group, [SimpleNamespace(path=path) for path in paths])
            for group, paths in config["groups"]
        ]
        known = SimpleNamespace(layer_groups=groups, adaptable_groups=dict(groups))
        optimizer = cls(inner, known, factors=config["factors"], name=config["name"])
        optimizer._saved = SavedSlots(config.get("weights", ()), optimizer._paths)
        return optimizer


def _check(inner, encoder) -> None:
    if not isinstance(inner, keras.optimizers.Optimizer):
        raise ConfigError(f"optimizer: expected a Keras optimizer as AdamW(2e-5), got {inner!r}")
    name, multi = type(inner).__name__, getattr(keras.optimizers, "MultiOptimizer", ())
    if isinstance(inner, (keras.optimizers.LossScaleOptimizer, DiscriminativeOptimizer, multi)):
        raise ConfigError(
            f"optimizer: expected one that moves weights itself, as AdamW(2e-5), got {name}; give "
            "what is inside it (the scaling of losses belongs around this optimizer, where Keras "
            "puts it under mixed_float16)"
        )
    if inner.built:
        raise ConfigError(
            f"optimizer: expected a new one, got {name} which is built over weights already: its "
            "slots would be lost; make another one"
        )
    if not hasattr(encoder, "layer_groups"):
        raise ConfigError(f"encoder: expected a HubEncoder, got {encoder!r}")
