"""Encoder and head as one Keras model, with the train step that adaptation needs."""

import functools
from collections.abc import Sequence

import keras
import tensorflow as tf

from hub_modules.half_kernels import given_kernels
from hub_modules.weights import learns
from tf_adapt.adaptation import Adaptation, as_adaptation
from tf_adapt.encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.heads.linear import LinearHead
from tf_adapt.slots import unscaled
from tf_adapt.tasks import Task, build_head
from tf_adapt.unfreezing import make_trainable


def build_model(
    task: Task,
    encoder: HubEncoder,
    head: str | keras.layers.Layer = "default",
    adaptation: str | Adaptation | None = None,
    head_dropout: float | None = None,
    head_units: int | None = None,
    auxiliaries: Sequence[keras.layers.Layer] = (),
) -> "AdaptedModel":
    """An encoder with a task's head on top, built and ready for `compile`.

    Args:
        task: what is predicted.
        encoder: a `HubEncoder`.
        head: "default" (the paper's for this task, encoder and adaptation: see
            `tf_adapt.paper.HEADS`), another name of `tf_adapt.tasks.HEADS`, or a Keras layer called
            as `head(encoded, inputs, training=…)`.
        adaptation: which groups learn, by name or as made by a function of
            `tf_adapt.adaptation`; None: as `encoder.trainable` says. All groups that it ever trains
            are trainable afterwards; where it has several phases, `fit` needs the callback
            `Unfreezing`.
        head_dropout, head_units: of a head by name: the share of units dropped while training, and
            the width of each direction of its LSTMs; by default the published ones.
        auxiliaries: losses that are added to the task's in training: see `AuxiliaryLoss`.

    Raises:
        ConfigError: the adaptation is unknown, or contradicts the encoder.
    """
    encoder.leave_unread(())  # an encoder may get another head
    if adaptation is not None:
        make_trainable(encoder, as_adaptation(adaptation))
    # What the head does not read would get no gradient: an ELMo module's own mix of its layers,
    # and BERT's pooler for most heads of ours. What a user's own head reads is not known here.
    unread = ["aggregation"]
    if isinstance(head, str):
        frozen = not encoder.trainable_groups
        head = build_head(
            head, task, encoder.family, frozen, head_dropout, head_units, encoder.joint_pairs
        )
        unread += [] if isinstance(head, LinearHead) else ["pooler"]
    encoder.leave_unread(unread)
    return AdaptedModel(task, encoder, head, auxiliaries)


@keras.saving.register_keras_serializable("tf_adapt")
class AdaptedModel(keras.Model):
    """A pretrained encoder and a task-specific head.

    Shapes: inputs `{"a": encoder inputs}`, or `{"a": …, "b": …}` where the texts of a pair are
    encoded separately → float32: classification `[batch, labels]` logits; regression `[batch]`;
    tagging `[batch, words, tags]` logits, or the dict of a head that decodes by itself: see
    `Tagger`.

    Args:
        auxiliaries: layers called as `auxiliary(inputs, encoder=…, encoded=[…], step=…,
            training=True)` in each training step, whose scalar results are added to the loss; on
            several devices a result is one device's share, as of `losses.global_mean`.

    Attributes:
        gradient_norm: a holder whose `value` is the global norm of the last step's gradient,
            before clipping.
    """

    def __init__(
        self,
        task: Task,
        encoder: HubEncoder,
        head: keras.layers.Layer,
        auxiliaries: Sequence[keras.layers.Layer] = (),
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.task = task
        self.encoder = encoder
        self.head = head
        self.auxiliaries = list(auxiliaries)
        # By what learns, and by whose penalties count: Keras fixes that when it traces a step.
        self._steps, self._test_steps = _Holder({}), _Holder({})
        # In a holder, so that Keras does not count it among the model's weights.
        self.gradient_norm = _Holder(
            tf.Variable(0.0, trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
        )
        # Built at once: under a distribution strategy Keras would otherwise spend a pass over the
        # data on it, and in several processes reduce that data across workers.
        outputs = self(example_inputs(task, encoder))
        # Such outputs come with `tags`, and with a loss that logits alone do not define.
        self.decodes = isinstance(outputs, dict)

    def build(self, input_shape=None):
        """Nothing to do: encoder and head have weights of their own.

        Without this method Keras would first trace a graph of the whole model, and TensorFlow never
        lets go of a graph with gradients written by hand.
        """

    def call(self, inputs, training=None, with_auxiliaries=False):
        """As in Keras; `with_auxiliaries` gives the sum of the auxiliary losses too."""
        encoded = [self.encoder(inputs[name], training=training) for name in sorted(inputs)]
        outputs = self.head(encoded, inputs["a"], training=training and learns(self.head))
        if not with_auxiliaries:
            return outputs
        step = tf.convert_to_tensor(self.optimizer.iterations)
        # Returned, not given to `add_loss`: its list is one for all replicas, which take turns, so
        # that each would count the others' losses.
        return outputs, sum(
            auxiliary(inputs, encoder=self.encoder, encoded=encoded, step=step, training=training)
            for auxiliary in self.auxiliaries
        )

    def answers(self, inputs) -> dict:
        """What the model says in inference mode: for `predict` and for the served model alike.

        Shapes: regression: `score` `[batch] float32`; else `label` `[batch] int32` and
        `probabilities` `[batch, labels] float32`; for tagging one of each a word.
        """
        outputs = self(inputs, training=False)
        if self.task.is_regression:
            return {"score": outputs}
        if self.decodes:
            return {"label": outputs["tags"], "probabilities": self.head.probabilities(outputs)}
        return {
            "label": tf.argmax(outputs, axis=-1, output_type=tf.int32),
            "probabilities": tf.nn.softmax(outputs),
        }

    @functools.cached_property
    def answer(self):
        """`answers` as a graph, traced once for all calls of `predict`, called with the inputs and
        `half_kernels` of the model."""

        def call(inputs, kernels):
            with given_kernels(self, kernels):
                return self.answers(inputs)

        return tf.function(call, autograph=False, reduce_retracing=True)

    def compile(self, optimizer="rmsprop", loss=None, **kwargs):
        """As in Keras. A head that decodes by itself brings its own loss in place of the task's.

        Raises:
            ConfigError: another loss than the task's, with such a head.
        """
        if not self.decodes:
            return super().compile(optimizer=optimizer, loss=loss, **kwargs)
        if loss is not None and type(loss) is not type(self.task.loss):
            raise ConfigError(
                f"loss: a CRF is trained with its own; expected task.loss or None, got {loss!r}"
            )
        return super().compile(optimizer=optimizer, **kwargs)

    def compile_from_config(self, config: dict) -> None:
        """As in Keras, which leaves it out where a model has a `compile` of its own: a model out of
        a `.keras` file would have neither loss nor optimizer."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.optimizer is not None:
            self.optimizer.build(self.trainable_weights)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """As in Keras; of a head that decodes by itself, its own loss and the penalties."""
        if not self.decodes:
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        loss = self.head.loss(y, y_pred, sample_weight)
        # Keras sums the losses of the replicas.
        return loss + sum(self.losses) / self.distribute_strategy.num_replicas_in_sync

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """As in Keras; where the head decodes, of the decoded tags."""
        if self.decodes:
            y_pred = tf.one_hot(y_pred["tags"], self.task.num_outputs)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def train_step(self, data):
        """Keras' own step, with the gradient summed over replicas before its norm is taken."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred, auxiliary_loss = self._outputs_in_training(x)
            loss = self.compute_loss(x, y, y_pred, sample_weight, training=True) + auxiliary_loss
            scaled_loss = self.optimizer.scale_loss(loss)
        self._track_loss(loss, tf.shape(y)[0])
        gradients = _summed_over_replicas(tape.gradient(scaled_loss, self.trainable_weights))
        norm = tf.linalg.global_norm(gradients)
        self.gradient_norm.value.assign(norm / self._loss_scale())
        gradients = self._shared_out(gradients, norm)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        return self.compute_metrics(x, y, y_pred, sample_weight)

    @property
    def unscaled_optimizer(self) -> keras.optimizers.Optimizer:
        """The optimizer itself, where Keras has put the scaling of float16 losses around it."""
        return unscaled(self.optimizer)

    def _outputs_in_training(self, x) -> tuple:
        """The outputs, and this replica's share of the auxiliary losses."""
        if self.auxiliaries:
            return self(x, training=True, with_auxiliaries=True)
        return self(x, training=True), 0.0

    def _shared_out(self, gradients: list, norm) -> list:
        """Each replica's share of the global gradient, which the optimizer is going to sum.

        The optimizer clips before it sums; clipping the whole gradient here makes that a no-op.
        """
        replicas = self.distribute_strategy.num_replicas_in_sync
        if replicas == 1:
            return gradients
        clipnorm = self.unscaled_optimizer.global_clipnorm
        if clipnorm:
            limit = clipnorm * self._loss_scale()
            gradients, _ = tf.clip_by_global_norm(gradients, limit, use_norm=norm)
        return [None if gradient is None else gradient / replicas for gradient in gradients]

    def test_step(self, data):
        """Keras' own step, with the loss summed over replicas."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        loss = self.compute_loss(x, y, y_pred, sample_weight, training=False)
        self._track_loss(loss, tf.shape(y)[0])
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def _track_loss(self, loss, examples) -> None:
        # Each replica holds its share of the global batch's loss: the sum is the loss itself.
        total = _summed_over_replicas([loss])[0]
        self._loss_tracker.update_state(total, sample_weight=tf.cast(examples, tf.float32))

    def _loss_scale(self):
        scale = getattr(self.optimizer, "dynamic_scale", None)
        return 1.0 if scale is None else tf.cast(scale, tf.float32)

    def make_train_function(self, force=False):
        if self.train_function is None or force:  # loss or optimizer may be others
            self._steps.value.clear()
        return self.use_step()

    def use_step(self):
        """Takes the train step for what is trainable now, the same one whenever the same learns."""
        steps, learning = self._steps.value, tuple(weight.trainable for weight in self.weights)
        if learning not in steps:
            steps[learning] = self._new_step()
        self.train_function = steps[learning]
        return self.train_function

    def _new_step(self):
        if self._in_several_processes():
            self.train_function = self._distributed_function(self.train_step)
        else:
            super().make_train_function(force=True)
        return functools.partial(self._after_building, self.train_function)

    def _after_building(self, step, iterator):
        # While a step is traced, each variable of the optimizer would be made by a graph of its
        # own, and the step traced once more.
        if not self.optimizer.built:
            with self.distribute_strategy.scope():
                self.optimizer.build(self.trainable_weights)
        return step(iterator)

    def make_test_function(self, force=False):
        steps = self._test_steps.value
        if self.test_function is None or force:
            steps.clear()
        weights = [weight for weight in self.weights if getattr(weight, "regularizer", None)]
        counted = tuple(weight.trainable for weight in weights)
        if counted not in steps:
            steps[counted] = self._new_test_step()
        self.test_function = steps[counted]
        return self.test_function

    def _new_test_step(self):
        if self._in_several_processes():
            return self._distributed_function(self.test_step)
        super().make_test_function(force=True)
        return self.test_function

    def _in_several_processes(self) -> bool:
        return self.distribute_strategy.extended._in_multi_worker_mode()

    def _distributed_function(self, step):
        """One step over all workers; Keras' own averages each scalar over an axis it has not."""
        strategy = self.distribute_strategy

        @tf.function
        def function(iterator):
            outputs = strategy.run(step, args=(next(iterator),))
            return tf.nest.map_structure(
                lambda value: strategy.reduce("MEAN", value, axis=None), outputs
            )

        return function

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Builds metrics from a made-up batch instead of one of the data's (see `__init__`)."""
        x = example_inputs(self.task, self.encoder)
        y = tf.zeros(
            [1, 1] if self.task.is_tagging else [1],
            "float32" if self.task.is_regression else "int32",
        )
        super()._maybe_symbolic_build(data_batch=(x, y, None))

    def get_config(self) -> dict:
        parts = {"task": self.task, "encoder": self.encoder, "head": self.head}
        config = {name: keras.saving.serialize_keras_object(part) for name, part in parts.items()}
        serialized = [keras.saving.serialize_keras_object(part) for part in self.auxiliaries]
        return config | {"auxiliaries": serialized}

    @classmethod
    def from_config(cls, config: dict, custom_objects=None) -> "AdaptedModel":
        parts = {name: keras.saving.deserialize_keras_object(part) for name, part in config.items()}
        return cls(**parts)

    def build_from_config(self, config: dict) -> None:
        """Nothing to do: the model is built when it is made."""


def check_answers(task: Task) -> None:
    """Refuses a task whose model gives no labels.

    Raises:
        ConfigError: it is a language model.
    """
    if task.is_language_model:
        raise ConfigError(
            "a language model predicts no labels; make a module of it with `tf-adapt module "
            "export`, and train a task on that"
        )


class _Holder:
    """Keeps a value out of Keras' and TensorFlow's tracking."""

    def __init__(self, value):
        self.value = value


def example_inputs(task: Task, encoder: HubEncoder) -> dict:
    """Model inputs for one made-up example of one word, to build layers with."""
    preprocessor = encoder.preprocessor
    if task.is_tagging:
        words = tf.ragged.constant([["a"]])
        return {"a": preprocessor.pack_words(preprocessor.tokenize_words(words))}
    units = preprocessor.tokenize(tf.constant(["a"]))
    if not task.is_pair:
        return {"a": preprocessor.pack([units])}
    if encoder.joint_pairs:
        return {"a": preprocessor.pack([units, units])}
    return {"a": preprocessor.pack([units]), "b": preprocessor.pack([units])}


def _summed_over_replicas(gradients: list) -> list:
    # As tensors: the gradient of an embedding has a row for each use of a word, and a norm over
    # such rows is not that of their sum.
    present = [tf.convert_to_tensor(gradient) for gradient in gradients if gradient is not None]
    context = tf.distribute.get_replica_context()
    if context is not None and context.num_replicas_in_sync > 1:
        present = context.all_reduce(tf.distribute.ReduceOp.SUM, present)
    reduced = iter(present)
    return [None if gradient is None else next(reduced) for gradient in gradients]
