"""A native transformer's forward pass in OpenVINO, as a function of tensors."""

import hashlib
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hub_modules.engines.names import OPENVINO
from hub_modules.engines.openvino_graph import OpenVinoGraph

# What the native transformers read.
PACKED = ("input_word_ids", "input_mask", "input_type_ids")


class OpenVinoEncoder:
    """Packed inputs → the encoder's outputs in inference mode, inside of a graph or outside.

    Shapes: as the encoder's. No gradient flows through it.

    Args:
        encoder: a native transformer (`BertEncoder`, `CausalEncoder`, `KerasHubEncoder`).
        what: its name in messages.
        origin: plain values for the cache: its module, and the version of its code.
    """

    def __init__(self, encoder: keras.layers.Layer, what: str, origin: dict[str, str]):
        self._encoder = encoder
        self._what = what
        self._origin = origin
        self._engine = OPENVINO
        self._weights = ""
        self._graph: OpenVinoGraph | None = None

    def choose(self, engine: str) -> None:
        """Has the next call take the weights anew, for "openvino" or "openvino_int8"."""
        self._engine = engine
        self._weights = ""

    def take_weights(self) -> None:
        """Converts the encoder with its current weights, unless that was done.

        Raises:
            ConfigError: as `OpenVinoGraph`.
        """
        # The first call may be one in a graph that is being traced.
        with tf.init_scope():
            self._take_weights()

    def _take_weights(self) -> None:
        digest = hashlib.sha256()
        for weight in self._encoder.weights:
            digest.update(np.ascontiguousarray(weight.numpy()))
        if digest.hexdigest() != self._weights:
            key = self._origin | {
                "weights": digest.hexdigest(),
                "encoder": type(self._encoder).__name__,
                "config": _settings(self._encoder),
            }
            self._graph = OpenVinoGraph(
                self._what, key, self._concrete, self._encoder.compute_dtype, self._engine
            )
            self._weights = digest.hexdigest()

    def __call__(self, inputs: dict) -> dict:
        if not self._weights:  # here, for an error in a graph's call would lose its type
            self.take_weights()
        packed = {name: inputs[name] for name in PACKED if name in inputs}
        names, count = list(packed), self._encoder.num_states
        dtype = self._encoder.compute_dtype

        def run(*arrays):
            if not self._weights:
                self.take_weights()
            results = self._graph(dict(zip(names, arrays, strict=True)))
            return [results[name] for name in outputs]

        outputs = [*map(_layer, range(count)), "mask", "pooled"]
        types = [*[tf.float32] * count, tf.bool, tf.float32]
        *layers, mask, pooled = tf.numpy_function(run, list(packed.values()), types)
        mask.set_shape(packed["input_mask"].shape)
        for states in layers:
            states.set_shape([*mask.shape, self._encoder.states_width])
        pooled.set_shape([mask.shape[0], self._encoder.states_width])
        layers = [tf.cast(states, dtype) for states in layers]
        return {"layers": layers, "mask": mask, "pooled": tf.cast(pooled, dtype)}

    def _concrete(self):
        def call(packed):
            encoded = self._encoder(packed, training=False)
            layers = {_layer(number): states for number, states in enumerate(encoded["layers"])}
            return layers | {"mask": encoded["mask"], "pooled": encoded["pooled"]}

        specs = {name: tf.TensorSpec([None, None], tf.int32, name=name) for name in PACKED}
        # AutoGraph would translate all of Keras for nothing.
        return tf.function(call, autograph=False).get_concrete_function(specs)


def _layer(number: int) -> str:
    return f"layer_{number:03d}"


def _settings(encoder: keras.layers.Layer) -> dict[str, Any]:
    """What its outputs depend on beside the weights; the name of a layer counts its siblings."""
    unused = ("name", "trainable", "dtype")
    config = {name: value for name, value in encoder.get_config().items() if name not in unused}
    return keras.saving.serialize_keras_object(config)
