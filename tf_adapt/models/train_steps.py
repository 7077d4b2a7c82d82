"""Train and test steps for adaptation: the global gradient's norm, phases, several processes."""

import functools

import keras
import tensorflow as tf

from hub_modules.native.kernels.custom_gradients import own_gradients
from hub_modules.native.untracked import Untracked
from tf_adapt.adaptation.slots import unscaled


class TrainSteps(keras.Model):
    """A model whose train step records the gradient's global norm and is traced once per phase.

    The gradient is summed over replicas before its norm is computed and clipped. Traced steps are
    cached by the set of trainable weights, so that a phase with the same set is not traced again.

    Attributes:
        gradient_norm: its `value` is the global norm of the last step's gradient, before clipping.
        encoder_share: its `value` is the norm of the encoder's part of that gradient, divided by
            the global one; near 0 where the gradients of the encoder have vanished.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        # Keyed by which weights (with penalties) are trainable: Keras fixes that in tracing.
        self._steps, self._test_steps = Untracked({}), Untracked({})
        self.gradient_norm, self.encoder_share = _recorded(), _recorded()

    def outputs_in_training(self, x) -> tuple:
        """The outputs, and this replica's share of losses in addition to the compiled one."""
        return self(x, training=True), 0.0

    def train_step(self, data):
        """Keras' step, with the gradient summed over replicas before its norm is computed."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred, auxiliary_loss = self.outputs_in_training(x)
            loss = self.compute_loss(x, y, y_pred, sample_weight, training=True) + auxiliary_loss
            scaled_loss = self.optimizer.scale_loss(loss)
        self._track_loss(loss, tf.shape(y)[0])
        weights = self.trainable_weights
        self._descend(tape.gradient(scaled_loss, weights), weights)
        return self.results_in_training(x, y, y_pred, sample_weight)

    def results_in_training(self, x, y, y_pred, sample_weight) -> dict:
        """What a step of training shows: loss and metrics."""
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def _descend(self, gradients: list, weights: list) -> None:
        """The optimizer's step for the gradients of each replica's share of the scaled loss."""
        gradients = _summed_over_replicas(gradients)
        norm = tf.linalg.global_norm(gradients)
        self.gradient_norm.value.assign(norm / self._loss_scale())
        self.encoder_share.value.assign(self._share_of_encoder(gradients, weights, norm))
        gradients = self._shared_out(gradients, norm)
        self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        own_gradients()

    def _share_of_encoder(self, gradients: list, weights: list, norm):
        inside = {id(weight) for weight in self.encoder.weights}
        pairs = zip(gradients, weights, strict=True)
        of_encoder = [gradient for gradient, weight in pairs if id(weight) in inside]
        if not any(gradient is not None for gradient in of_encoder):
            return 0.0
        return tf.math.divide_no_nan(tf.linalg.global_norm(of_encoder), norm)

    @property
    def unscaled_optimizer(self) -> keras.optimizers.Optimizer:
        """The optimizer without the `LossScaleOptimizer` that Keras wraps around it for float16."""
        return unscaled(self.optimizer)

    def _shared_out(self, gradients: list, norm) -> list:
        """Each replica's share of the global gradient; the optimizer sums the shares.

        The optimizer clips before it sums; clipping the global gradient here makes that a no-op.
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
        """Keras' step, with the loss summed over replicas."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        loss = self.compute_loss(x, y, y_pred, sample_weight, training=False)
        self._track_loss(loss, tf.shape(y)[0])
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def _track_loss(self, loss, examples) -> None:
        # Each replica has its share of the global batch's loss: their sum is the loss.
        total = _summed_over_replicas([loss])[0]
        self._loss_tracker.update_state(total, sample_weight=tf.cast(examples, tf.float32))

    def _loss_scale(self):
        scale = getattr(self.optimizer, "dynamic_scale", None)
        return 1.0 if scale is None else tf.cast(scale, tf.float32)

    def make_train_function(self, force=False):
        if self.train_function is None or force:  # loss or optimizer may have changed
            self._steps.value.clear()
        return self.use_step()

    def use_step(self):
        """Sets `train_function` to the step for the current trainable weights, cached by them."""
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
        # During tracing, each variable of the optimizer would be created in a graph of its own, and
        # the step traced once more.
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
        """One step over all workers; Keras' version averages scalars over an axis they lack."""
        strategy = self.distribute_strategy

        @tf.function
        def function(iterator):
            outputs = strategy.run(step, args=(next(iterator),))
            return tf.nest.map_structure(
                lambda value: strategy.reduce("MEAN", value, axis=None), outputs
            )

        return function


def _recorded() -> Untracked:
    # Untracked: it is not a weight of the model.
    return Untracked(
        tf.Variable(0.0, trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
    )


def _summed_over_replicas(gradients: list) -> list:
    # Dense: the gradient of an embedding has a row for each use of a word, and the norm of these
    # rows is not the norm of their sum.
    present = [tf.convert_to_tensor(gradient) for gradient in gradients if gradient is not None]
    context = tf.distribute.get_replica_context()
    if context is not None and context.num_replicas_in_sync > 1:
        present = context.all_reduce(tf.distribute.ReduceOp.SUM, present)
    reduced = iter(present)
    return [None if gradient is None else next(reduced) for gradient in gradients]
