"""SavedModels as functions of texts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.framework.types_pb2 import DataType
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from hub_modules.programs.saved_model import restore_program
from hub_modules.programs.trusted import check_trusted, remember
from tf_adapt.errors import ArtifactError, DataError
from tf_adapt.serving.exports.export_parts import signature_in
from tf_adapt.serving.reading.opened import PREDICT, SAVED_MODEL, Answer, Columns, Opened, Outputs


def opened(folder: Path, content: str, trust: bool, engine: str) -> Opened:
    """See `tf_adapt.serving.reading.opened.opened`; `content` is a hash of the folder."""
    check_trusted(content, trust, f"export {folder}")
    program = restore_program(folder, content, "export")
    remember(content)

    def answer(name: str) -> Answer:
        signature = signature_in(engine, program, name, f"export {folder}", content)
        return answered_by(signature, program)

    return Opened(answer, _definitions(folder))


def answered_by(signature: Callable, program: Any) -> Answer:
    """A signature as a function of Python values; its program lives as long as that does.

    Raises:
        DataError: when called: the graph refuses a text.
        ValueError: when called: it fails in another way, of which TensorFlow's words say more.
    """

    def answer(columns: Columns, _program: Any = program) -> Outputs:
        tensors = {name: _tensor(values) for name, values in columns.items()}
        try:
            outputs = sorted(signature(**tensors).items())
            return {name: _texts(value.numpy()) for name, value in outputs}
        except tf.errors.OpError as error:
            reason = _reason(error)
            if reason is None:
                raise ValueError(error.message) from error
            raise DataError(reason) from None

    return answer


def _tensor(values: list | int | float) -> tf.Tensor:
    """Of a column of texts, or of a setting."""
    if isinstance(values, list):
        return tf.constant(values, tf.string, shape=_shape(values))
    return tf.constant(values)


def _shape(values: list) -> list[int]:
    """That of texts, or of equally long rows of words, of which there may be none."""
    return [len(values), len(values[0])] if isinstance(values[0], list) else [len(values)]


def _texts(array: np.ndarray) -> np.ndarray:
    """The array with `str` for bytes."""
    if array.dtype != object:
        return array
    texts = [value.decode("utf-8") for value in array.ravel()]
    return np.array(texts, object).reshape(array.shape)


def _reason(error: tf.errors.OpError) -> str | None:
    """The message of a check of ours in the graph; None of any other error."""
    text = " ".join(error.message.split())
    _, is_check, reason = text.rpartition("ssertion failed: [")
    for end in ("] [Condition ", "[[{{", "[Op:"):
        reason = reason.split(end)[0]
    return reason.strip(" []")[:300] if is_check else None


def _definitions(folder: Path) -> dict[str, dict[str, Any]]:
    """The signatures of a SavedModel as TensorFlow Serving shows them."""
    file = folder / SAVED_MODEL
    try:
        (graph,) = SavedModel.FromString(file.read_bytes()).meta_graphs
    except (OSError, ValueError, DecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArtifactError(
            f"{file}: expected a SavedModel, got none that can be read ({reason}); export the run "
            "again"
        ) from None
    return {
        name: {
            "inputs": {
                key: _tensor_info(tensor) for key, tensor in sorted(signature.inputs.items())
            },
            "outputs": {
                key: _tensor_info(tensor) for key, tensor in sorted(signature.outputs.items())
            },
            "method_name": signature.method_name,
        }
        for name, signature in graph.signature_def.items()
        if signature.method_name == PREDICT
    }


def _tensor_info(info: Any) -> dict[str, Any]:
    shape = info.tensor_shape
    return {
        "dtype": DataType.Name(info.dtype),
        "tensor_shape": {
            "dim": [{"size": str(axis.size), "name": axis.name} for axis in shape.dim],
            "unknown_rank": shape.unknown_rank,
        },
        "name": info.name,
    }
