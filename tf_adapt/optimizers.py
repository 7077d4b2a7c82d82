"""The optimizer of a run: AdamW with a global clip that sees the gradients of all devices."""

import keras
import numpy as np
import tensorflow as tf

# As in google-research/bert: neither biases nor the parameters of LayerNorms decay.
NOT_DECAYED = ("bias", "gamma", "beta")


@keras.saving.register_keras_serializable("tf_adapt")
class ClippedAdamW(keras.optimizers.AdamW):
    """AdamW, bias-corrected, that clips by the global norm after summing over devices.

    Keras' own `global_clipnorm` clips each device's share before the sum, so that its effect
    depends on the number of devices. This one computes `g · min(1, c / ‖g‖)` with the norm over
    all gradients of the global batch, and remembers the squared norm of each for whoever watches.
    Gradients that are not finite change nothing but the moments' decay: the weights stay finite.

    Args:
        learning_rate: a number; callbacks may assign it.
        weight_decay: decoupled: `w ← w − rate · weight_decay · w`, save for `NOT_DECAYED`.
        clip_norm: largest global norm, or None.
        variables: every variable that may ever be trained; the optimizer is built on them, so that
            freezing and unfreezing keeps their moments.

    References: Loshchilov and Hutter 2019 (AdamW); Devlin et al. 2019 (what does not decay).
    """

    def __init__(self, learning_rate, weight_decay=0.01, clip_norm=1.0, **kwargs):
        super().__init__(learning_rate=learning_rate, weight_decay=weight_decay, **kwargs)
        self.clip_norm = clip_norm

    def build(self, var_list):
        """Creates the moments, and one squared gradient norm for each variable."""
        if self.built:
            return
        self.exclude_from_weight_decay(
            var_list=[variable for variable in var_list if variable.name in NOT_DECAYED]
        )
        super().build(var_list)
        self.squared_norms = self.add_variable(
            shape=(len(var_list),),
            name="squared_gradient_norms",
            aggregation="only_first_replica",
        )

    def first_non_finite_gradient(self) -> str | None:
        """Path of the first variable whose last gradient was not finite."""
        finite = np.isfinite(np.array(self.squared_norms))
        if finite.all():
            return None
        return self._trainable_variables[int(np.argmin(finite))].path

    def gradient_norm(self) -> float:
        """Global norm of the last gradients, before clipping."""
        return float(np.sqrt(np.sum(np.array(self.squared_norms), dtype=np.float64)))

    def _all_reduce_sum_gradients(self, grads_and_vars):
        # The one place where Keras has the sum over devices in hand, before the update.
        pairs = [
            (None if gradient is None else tf.convert_to_tensor(gradient), variable)
            for gradient, variable in super()._all_reduce_sum_gradients(grads_and_vars)
        ]
        squares = {
            self._get_variable_index(variable): tf.reduce_sum(
                tf.square(tf.cast(gradient, tf.float32))
            )
            for gradient, variable in pairs
            if gradient is not None
        }
        zero = tf.zeros(())
        squares = tf.stack([squares.get(i, zero) for i in range(self.squared_norms.shape[0])])
        self.squared_norms.assign(squares)
        norm = tf.sqrt(tf.reduce_sum(squares))
        scale = tf.ones(()) if self.clip_norm is None else self.clip_norm / tf.maximum(
            norm, self.clip_norm
        )
        finite = tf.math.is_finite(norm)
        return [
            (
                None
                if gradient is None
                else tf.where(finite, gradient * tf.cast(scale, gradient.dtype), 0),
                variable,
            )
            for gradient, variable in pairs
        ]

    def get_config(self) -> dict:
        return super().get_config() | {"clip_norm": self.clip_norm}
