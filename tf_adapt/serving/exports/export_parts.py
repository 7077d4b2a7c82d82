"""An export's signature in three functions: text → ids, the encoder, the rest.

The second holds numbers alone, so that another engine can compute it.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from hub_modules.engines.names import TENSORFLOW
from hub_modules.engines.openvino_graph import OpenVinoGraph
from hub_modules.native.kernels.pooled_alone import pooled_alone
from tf_adapt.encoder.feature_parts import FeaturePart, parts_of
from tf_adapt.encoder.hub_encoder import HubEncoder, computed_by_tensorflow, is_convertible
from tf_adapt.errors import ConfigError
from tf_adapt.layers.head_inputs import POOLED, HeadInputs, head_inputs_of
from tf_adapt.models.adapted_model import AdaptedModel

_NAMES = ("pack", "encode", "answer")


@contextlib.contextmanager
def traced_for_serving(model: AdaptedModel) -> Iterator[None]:
    """Calls of a model inside are TensorFlow's, and compute no more than its head reads."""
    encoder = model.encoder
    pooled = head_inputs_of(model.head) == POOLED
    alone = pooled and encoder.pooling is None and encoder.long is None
    with computed_by_tensorflow(encoder), pooled_alone() if alone else contextlib.nullcontext():
        yield


def parts_that_are_read(encoder: HubEncoder, head_inputs: HeadInputs) -> list[FeaturePart] | None:
    """The encoder outputs that the head reads; None where no other engine can compute them."""
    return parts_of(head_inputs, encoder) if is_convertible(encoder) else None


def read_of(parts: list[FeaturePart], encoded: dict, inputs: dict) -> dict:
    """The encoder's outputs as its precomputed ones: see `HubEncoder`.

    Shapes: `pooled` `[batch, width]`; `states` `[batch, time, layers, width]` with `lengths`
    `[batch] int64`, where vectors of whole texts have the time 1.
    """
    outputs = {}
    for part in parts:
        outputs[part.key] = part.take(encoded, inputs)
        if part.key == "states":
            outputs["lengths"] = tf.math.count_nonzero(encoded["mask"], axis=1)
            if part.per_text:
                outputs["states"] = outputs["states"][:, None]
                outputs["lengths"] = tf.ones_like(outputs["lengths"])
    return outputs


def traced(texts: dict, pack: Callable, encode: Callable, answer: Callable) -> dict[str, Any]:
    """The three functions by their names in an export, traced for any batch size and length.

    Args:
        texts: the specs of the signature's inputs by name.
        pack: texts → `{"inputs": {"a": …}, …}`.
        encode: the inputs of one text column → what the head reads.
        answer: texts, the result of `pack`, that of `encode` by text column → outputs.
    """
    functions = [tf.function(function, autograph=False) for function in (pack, encode, answer)]
    packed = _specs(functions[0].get_concrete_function(texts))
    encoded = {
        name: _specs(functions[1].get_concrete_function(inputs))
        for name, inputs in packed["inputs"].items()
    }
    functions[2].get_concrete_function(texts, packed, encoded)
    return dict(zip(_NAMES, functions, strict=True))


def _specs(function: Any) -> Any:
    def spec(tensor):
        return tf.TensorSpec(tensor.shape, tensor.dtype)

    return tf.nest.map_structure(spec, function.structured_outputs)


def signature_in(engine: str, program: Any, name: str, export: str, content: str) -> Callable:
    """A signature of a restored export, whose encoder an engine computes: texts by name → outputs.

    Args:
        name: of the signature.
        export: the export's name in messages.
        content: a hash of the export.

    Raises:
        ConfigError: the engine is missing or cannot compute the encoder, or the export does not
            hold it as a function of its own.
    """
    if engine == TENSORFLOW:
        return program.signatures[name]
    owner = program.tasks[name] if hasattr(program, "tasks") else program
    if not all(hasattr(owner, part) for part in _NAMES):
        raise ConfigError(
            f"engine {engine}: {export}: expected an export of one model with a transformer that "
            "runs natively and no task of questions or written texts, got another one, or one of "
            f"an earlier version; choose the engine {TENSORFLOW}, or export the run again"
        )
    # Each traced once, for all shapes: with the functions themselves every new length of a text
    # would be looked up among all before it.
    pack, function, last = (getattr(owner, part).concrete_functions[0] for part in _NAMES)
    types = {key: tensor.dtype for key, tensor in function.structured_outputs.items()}
    halves = [dtype.name for dtype in types.values() if dtype in (tf.bfloat16, tf.float16)]
    computed = halves[0] if halves else "float32"
    key = {"export": content, "signature": name}
    graph = OpenVinoGraph(f"the encoder of {export}", key, lambda: function, computed, engine)

    def answer(**texts: tf.Tensor) -> dict[str, tf.Tensor]:
        packed = pack(texts)
        encoded = {}
        for column, inputs in packed["inputs"].items():
            outputs = graph({key: tensor.numpy() for key, tensor in inputs.items()})
            encoded[column] = {key: tf.cast(outputs[key], types[key]) for key in types}
        return last(texts, packed, encoded)

    return answer
