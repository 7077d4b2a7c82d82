"""Encoder and head of a model as one graph of OpenVINO: ids → logits."""

from typing import Any

import keras
import tensorflow as tf

from hub_modules.engines.openvino_graph import converted
from hub_modules.native.added.lora import merged
from hub_modules.native.added.settings import TaskAttention
from hub_modules.native.kernels.convertible import convertible_operations
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.light.layout import LOGITS
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.kinds import KINDS
from tf_adapt.serving.exports.export_parts import traced_for_serving

FAMILIES_TAKEN = ("bert", "elmo", "causal", "mpnet", "modern_bert")
# The inputs of an encoder and of a head; others are read after the head.
_READ = (
    "input_word_ids",
    "input_mask",
    "input_type_ids",
    "character_ids",
    "first_piece",
    "last_piece",
)
_LEAVE_OUT = "leave --format out, which writes a SavedModel"


def check_convertible(encoder: HubEncoder) -> None:
    """Checks that an encoder can be part of a light export.

    Raises:
        ConfigError: it runs as a program, is of another family, or has windows or attention of its
            own.
    """
    problem = ""
    if encoder.execution != "native":
        problem = f"{encoder.handle}, which runs as its module's program"
    elif encoder.family not in FAMILIES_TAKEN:
        problem = f"{encoder.handle} of the family {encoder.family}"
    elif encoder.long is not None:
        problem = f"one with windows for long texts ({encoder.long})"
    elif isinstance(encoder.added, TaskAttention):
        problem = "one with task_attention"
    elif getattr(encoder.native, "stateful", False):
        problem = f"{encoder.handle}, whose states go on from call to call"
    if problem:
        raise ConfigError(
            "format openvino: expected an encoder that runs natively, of the family "
            f"{', '.join(FAMILIES_TAKEN)}, got {problem}; {_LEAVE_OUT}"
        )


def graph_of(model: AdaptedModel) -> Any:
    """The graph from packed inputs to logits in inference mode, with the current weights.

    Raises:
        ConfigError: OpenVINO cannot convert it.
    """
    encoder = model.encoder
    with merged(encoder), traced_for_serving(model), convertible_operations():
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
        if key in _READ
    }
    # AutoGraph would translate all of Keras for nothing.
    return tf.function(call, autograph=False).get_concrete_function(specs)


def _logits(head: keras.layers.Layer, encoded: list[dict], inputs: dict) -> Any:
    outputs = head(encoded, inputs, training=False)
    return outputs["logits"] if isinstance(outputs, dict) else outputs


def _any_size(value: tf.Tensor) -> list[int | None]:
    return [None, None, *value.shape[2:]]
