"""Several tasks on one shared encoder, trained together: each step trains one task's batch."""

import functools
from collections.abc import Callable, Mapping

import keras
import tensorflow as tf

from hub_modules.native.added.settings import TaskAttention
from tf_adapt.adaptation.adaptations import as_adaptation
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.adaptation.unfreezing import group_names, in_order_of
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.build import build_model
from tf_adapt.models.kinds import refuse_language_model
from tf_adapt.models.phased_model import PhasedModel
from tf_adapt.tasks.task import Task


def build_multi_task_model(
    tasks: Mapping[str, Task],
    encoder: HubEncoder,
    heads: Mapping[str, str | keras.layers.Layer | dict] | None = None,
    adaptation: str | Adaptation | None = None,
    loss_weights: Mapping[str, float] | None = None,
    task_attention: int | None = None,
) -> "MultiTaskModel":
    """One encoder with a head for each task, built and ready for `compile`.

    Args:
        tasks: the tasks, of any kinds, by name.
        encoder: a `HubEncoder`, which learns from all tasks.
        heads: for each task the argument `head` of `build_model`, or a dict of this and its other
            arguments for heads; for tasks that are left out "default".
        adaptation: as in `build_model`; "head" is the group of all heads.
        loss_weights: factors of the tasks' losses, above 0; for tasks that are left out 1.
        task_attention: width of the projected attention layers that each task has for itself in the
            encoder (a native BERT, tuned), 204 as published; None: none.

    Raises:
        ConfigError: a name is no identifier or not among the tasks, a task is a language model, a
            weight is not above 0, nothing that the tasks share is trained, the encoder has the
            attention of other tasks; as `build_model`.

    Examples:
        >>> tasks = {"questions": questions, "names": names}  # each a ta.Task
        >>> model = ta.build_multi_task_model(tasks, encoder, adaptation="fine_tuning")
        >>> model.compile(ta.DiscriminativeOptimizer(keras.optimizers.AdamW(2e-5), encoder))
        >>> model.fit(ta.multi_task_batches(train, tasks, encoder), epochs=3)
        >>> ta.predict(model.models["questions"], ["who wrote this ?"])
    """
    heads = heads or {}
    _check_names(heads, tasks, "heads")
    for task in tasks.values():
        refuse_language_model(task)
    if isinstance(encoder.added, TaskAttention):
        _check_names(dict.fromkeys(encoder.added.tasks), tasks, "encoder: task_attention")
    if task_attention is not None:
        encoder.add(TaskAttention(tuple(tasks), task_attention))
    if adaptation is not None and as_adaptation(adaptation).pairs is not None:
        raise ConfigError(
            "adaptation: expected another than contrastive for several tasks, which it trains one "
            "at a time; take fine_tuning"
        )
    models, unread = {}, []
    for name, task in tasks.items():
        head = heads.get(name, "default")
        given = head if isinstance(head, dict) else {"head": head}
        task_name = _own_attention(encoder, name)
        models[name] = build_model(
            task, encoder, adaptation=adaptation, task_name=task_name, **given
        )
        unread.append(encoder.unread_groups)
    # A group that one of the heads reads is trained by that task.
    encoder.leave_unread([name for name in unread[0] if all(name in groups for groups in unread)])
    if not _shared_weights(encoder):
        raise ConfigError(
            "encoder: expected one that is trained, got one that stays frozen: tasks that share no "
            "trained weights do not help each other; train them apart, or take another adaptation"
        )
    return MultiTaskModel(models, loss_weights, models[name].adaptation)


@keras.saving.register_keras_serializable("tf_adapt")
class MultiTaskModel(PhasedModel):
    """Models of several tasks that share their encoder.

    A step of `fit` trains one task's batch: the encoder and that task's head. It minimises
    `weightₜ · lossₜ`, the task's own exact loss over the global batch, penalties included. Another
    task's head is not changed, neither are its slots. In a phase that trains nothing a task's head
    reads, its steps count and change nothing. `fit` and `evaluate` take the dataset of
    `tf_adapt.multi_task_batches`. Logs: `loss`, the mean of the weighted losses over the examples
    of all tasks, and `TASK/loss`, `TASK/accuracy`, …, NaN for a task without a batch.

    Shapes: `{task: inputs}` → `{task: outputs}`, of each as in `AdaptedModel`.

    Args:
        models: the model of each task; use it to predict, evaluate or export a task.
        loss_weights, adaptation: see `build_multi_task_model`.

    Raises:
        ConfigError: fewer than two tasks, models with different encoders or with auxiliary losses;
            as `build_multi_task_model`.
    """

    def __init__(
        self,
        models: Mapping[str, AdaptedModel],
        loss_weights: Mapping[str, float] | None = None,
        adaptation: Adaptation | None = None,
        **kwargs,
    ):
        _check_models(models)
        super().__init__(next(iter(models.values())).encoder, adaptation, **kwargs)
        _check_names(loss_weights or {}, models, "loss_weights")
        self.loss_weights = {name: float((loss_weights or {}).get(name, 1.0)) for name in models}
        for name, weight in self.loss_weights.items():
            if not weight > 0:
                raise ConfigError(f"loss_weights: {name}: expected a number above 0, got {weight}")
        self.models = dict(models)
        self.built = True

    def build(self, input_shape=None):
        """Creates nothing: the tasks' models are built."""

    def call(self, inputs, training=None):
        return {name: self.models[name](batch, training=training) for name, batch in inputs.items()}

    def compile(self, optimizer="rmsprop"):
        """As in Keras; losses and metrics are those of the tasks."""
        super().compile(optimizer=optimizer, jit_compile=False)
        for model in self.models.values():
            task = model.task
            model.compile(optimizer=None, loss=task.loss, metrics=task.metrics, jit_compile=False)
            model.build_metrics()

    def compile_from_config(self, config: dict) -> None:
        """As in Keras: see `AdaptedModel.compile_from_config`."""
        self.compile(keras.saving.deserialize_keras_object(config)["optimizer"])
        if self.optimizer is not None:
            self.optimizer.build(in_order_of(self, self._ever_trained()))

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        """The mean loss, and the metrics of all tasks."""
        trackers = [self._loss_tracker] if self.compiled else []
        return trackers + [metric for model in self.models.values() for metric in model.metrics]

    def get_metrics_result(self) -> dict:
        """The results of `metrics`, by their names in the logs."""
        results = {"loss": self._loss_tracker.result()}
        for name, model in self.models.items():
            is_seen = keras.ops.convert_to_tensor(model._loss_tracker.count) > 0
            for metric, value in model.get_metrics_result().items():
                results[f"{name}/{metric}"] = tf.where(is_seen, value, float("nan"))
        return results

    def predict(self, *args, **kwargs):
        """Not supported: a batch would not say whose task it is.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(
            "model.predict: use tf_adapt.predict(model.models[TASK], texts), which predicts a task"
        )

    def _train_task(self, name: str, data) -> None:
        model, (x, y) = self.models[name], data
        with tf.GradientTape() as tape:
            y_pred = model(x, training=True)
            loss = model.compute_loss(x, y, y_pred, training=True)
            weighted = self.loss_weights[name] * loss
            scaled_loss = self.optimizer.scale_loss(weighted)
        self._track(model, loss, weighted, y)
        # This head may leave a group unread that another one reads.
        weights = self._weights_of(name)
        pairs = zip(tape.gradient(scaled_loss, weights), weights, strict=True)
        trained = [(gradient, weight) for gradient, weight in pairs if gradient is not None]
        if trained:
            self._descend(*map(list, zip(*trained, strict=True)))
        else:
            self._stay()
        model.compute_metrics(x, y, y_pred)

    def _stay(self) -> None:
        """Counts a step of a task whose head reads no weight that the phase trains."""
        self.gradient_norm.value.assign(0.0)
        # Not `iterations`: with accumulation that is the number of updates.
        self.unscaled_optimizer._iterations.assign_add(1)

    def _weights_of(self, name: str) -> list[keras.Variable]:
        """The weights that a step of a task trains: not the attention of other tasks, for which a
        penalty has a gradient."""
        model = self.models[name]
        others = set(map(id, self.encoder.weights_of_other_tasks(model.task_name)))
        return [weight for weight in model.trainable_weights if id(weight) not in others]

    def _test_task(self, name: str, data) -> None:
        model, (x, y) = self.models[name], data
        y_pred = model(x, training=False)
        loss = model.compute_loss(x, y, y_pred, training=False)
        self._track(model, loss, self.loss_weights[name] * loss, y)
        model.compute_metrics(x, y, y_pred)

    def _track(self, model: AdaptedModel, loss, weighted, targets) -> None:
        model._track_loss(loss, tf.shape(targets)[0])
        self._track_loss(weighted, tf.shape(targets)[0])

    def _new_step(self):
        return functools.partial(self._after_building, self._by_task(self._train_task))

    def _new_test_step(self):
        return self._by_task(self._test_task)

    def _by_task(self, step: Callable) -> Callable:
        """A function of an iterator: it gives the next batch to the traced step of its task.

        The choice is Python's, because no replica may sum over all of them inside a branch.
        """
        names, traced = list(self.models), {}

        def next_step(iterator):
            number, batches = next(iterator)
            # A replica may have none of the examples, but not all replicas.
            numbers = tf.concat(self.distribute_strategy.experimental_local_results(number), 0)
            name = names[int(numbers[0])]
            spec = iterator.element_spec[1][name]
            key = (name, *tf.nest.flatten(spec, expand_composites=False))
            if key not in traced:
                traced[key] = self._over_replicas(functools.partial(step, name), spec)
            return traced[key](batches[name])

        return next_step

    def _over_replicas(self, step: Callable, spec) -> Callable:
        def step_and_results(data):
            self.distribute_strategy.run(step, args=(data,))
            return self.get_metrics_result()

        # A concrete function: TensorFlow warns of many functions from one line as of retracing.
        return tf.function(step_and_results, autograph=False).get_concrete_function(spec)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Does nothing: `compile` builds the metrics, and the first step the optimizer."""

    def get_config(self) -> dict:
        serialized = keras.saving.serialize_keras_object
        parts = {
            name: {"task": serialized(model.task), "head": serialized(model.head)}
            for name, model in self.models.items()
        }
        phases = self.adaptation and self.adaptation.as_values(group_names(self.encoder))
        return {
            "encoder": serialized(self.encoder),
            "parts": parts,
            "loss_weights": dict(self.loss_weights),
            "adaptation": phases,
        }

    @classmethod
    def from_config(cls, config: dict, custom_objects=None) -> "MultiTaskModel":
        made = keras.saving.deserialize_keras_object
        encoder, values = made(config["encoder"]), config["adaptation"]
        models = {
            name: AdaptedModel(
                made(part["task"]),
                encoder,
                made(part["head"]),
                task_name=_own_attention(encoder, name),
            )
            for name, part in config["parts"].items()
        }
        return cls(models, config["loss_weights"], values and Adaptation.of_values(values))

    def build_from_config(self, config: dict) -> None:
        """Does nothing: the constructor builds the model."""


def _own_attention(encoder: HubEncoder, name: str) -> str | None:
    return name if isinstance(encoder.added, TaskAttention) else None


def _shared_weights(encoder: HubEncoder) -> list[keras.Variable]:
    """The trainable weights of the encoder that no task has for itself."""
    if not isinstance(encoder.added, TaskAttention):
        return encoder.trainable_weights
    task_weights = {
        id(weight) for layer in encoder.native.adapter_layers for weight in layer.weights
    }
    return [weight for weight in encoder.trainable_weights if id(weight) not in task_weights]


def _check_models(models: Mapping[str, AdaptedModel]) -> None:
    if len(models) < 2:
        raise ConfigError(
            f"tasks: expected at least two, got {', '.join(models) or 'none'}; one alone is what "
            "tf_adapt.build_model is for"
        )
    for name in models:
        if not (name.isascii() and name.isidentifier()):
            raise ConfigError(
                f"tasks: expected names of letters, digits and _, no digit first, got {name!r}"
            )
    if len({id(model.encoder) for model in models.values()}) > 1:
        raise ConfigError("models: expected models of one HubEncoder, got several encoders")
    if any(model.auxiliaries for model in models.values()):
        raise ConfigError("models: expected models without auxiliary losses, got one with some")


def _check_names(given: Mapping, tasks: Mapping, what: str) -> None:
    unknown = sorted(given.keys() - tasks.keys())
    if unknown:
        raise ConfigError(
            f"{what}: expected some of the tasks {', '.join(tasks)}, got {', '.join(unknown)}"
        )
