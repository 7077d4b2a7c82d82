"""Standardises the vectors of frozen layers, by the texts that a head is trained on."""

from collections.abc import Iterable

import keras
import numpy as np
import tensorflow as tf

from tf_adapt.errors import DataError, TrainingError


@keras.saving.register_keras_serializable("tf_adapt")
class Standardisation(keras.layers.Layer):
    """`(v − mean) / deviation` of each feature of each layer; at first 0 and 1.

    A feature that is the same in all texts has the deviation 1, as in scikit-learn.

    Shapes: vectors `[batch, layers, width]` → the same, in the compute dtype.

    Attributes:
        mean, deviation: `[layers, width] float32`, not trainable.
        texts: the number of texts that they are of, a scalar; 0: they are not set.
    """

    def build(self, vectors_shape):
        shape = vectors_shape[1:]
        keeps = {"trainable": False, "autocast": False}
        self.mean = self.add_weight(name="mean", shape=shape, initializer="zeros", **keeps)
        self.deviation = self.add_weight(name="deviation", shape=shape, initializer="ones", **keeps)
        self.texts = self.add_weight(name="texts", shape=(), initializer="zeros", **keeps)

    @property
    def is_set(self) -> bool:
        """Whether mean and deviation are those of texts."""
        return float(self.texts.numpy()) > 0

    def adapt(self, batches: Iterable[np.ndarray]) -> None:
        """Sets mean and deviation to those of all vectors, `[batch, layers, width]` each; they are
        added up in float64, so that their order does not show in float32.

        Raises:
            DataError: there are none.
            TrainingError: one is not finite.
        """
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler()
        for vectors in batches:
            if not np.isfinite(vectors).all():
                raise TrainingError(
                    "head_scaled: expected finite vectors of the training texts, got infinity or "
                    "NaN from the frozen encoder; try training.mixed_precision: null, or look at "
                    "the weights of the module"
                )
            scaler.partial_fit(vectors.reshape(len(vectors), -1).astype(np.float64))
        if not hasattr(scaler, "mean_"):
            raise DataError(
                "head_scaled: expected training texts, whose vectors are standardised, got none"
            )
        shape = self.mean.shape
        self.mean.assign(scaler.mean_.reshape(shape))
        self.deviation.assign(scaler.scale_.reshape(shape))
        self.texts.assign(float(scaler.n_samples_seen_))

    def call(self, vectors):
        # In half precision the difference would lose what little a feature varies.
        vectors = tf.cast(vectors, tf.float32)
        scaled = (vectors - tf.convert_to_tensor(self.mean)) / tf.convert_to_tensor(self.deviation)
        return tf.cast(scaled, self.compute_dtype)
