"""Encoder and head of a model as one graph of OpenVINO: ids → logits."""

from typing import Any

import keras
import tensorflow as tf

from hub_modules.engines.openvino_graph import converted
from hub_modules.native.added.lora import merged
from hub_modules.native.kernels.convertible import convertible_operations
from tf_adapt.encoder.hub_encoder import computed_by_tensorflow
from tf_adapt.light.layout import LOGITS
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.kinds import KINDS


def graph_of(model: AdaptedModel) -> Any:
    """The graph from packed inputs to logits in inference mode, with the current weights.

    Raises:
        ConfigError: OpenVINO cannot convert it.
    """
    encoder = model.encoder
    with merged(encoder), computed_by_tensorflow(encoder), convertible_operations():
        return converted(f"the model on {encoder.handle}", _concrete(model))


def _concrete(model: AdaptedModel) -> Any:
    def call(arrays: dict) -> dict:
        texts: dict[str, dict] = {}
        for name, array in arrays.items():
            column, _, key = name.partition("_")
            texts.setdefault(column, {})[key] = array
        encoded = [model.encoded(inputs, training=False) for inputs in texts.values()]
        outputs = _logits(model.head, encoded, texts["a"])
        return {LOGITS: tf.cast(outputs, tf.float32)}

    specs = {
        f"{column}_{key}": tf.TensorSpec(_any_size(value), value.dtype, name=f"{column}_{key}")
        for column, inputs in KINDS[model.task.kind].inputs(model.encoder).items()
        for key, value in inputs.items()
        if value.dtype == tf.int32
    }
    # AutoGraph would translate all of Keras for nothing.
    return tf.function(call, autograph=False).get_concrete_function(specs)


def _logits(head: keras.layers.Layer, encoded: list[dict], inputs: dict) -> Any:
    outputs = head(encoded, inputs, training=False)
    return outputs["logits"] if isinstance(outputs, dict) else outputs


def _any_size(value: tf.Tensor) -> list[int | None]:
    return [None, None, *value.shape[2:]]
