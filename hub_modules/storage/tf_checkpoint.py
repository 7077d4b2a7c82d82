"""Reads TensorFlow checkpoints as arrays: no graph is loaded and no code runs."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import trackable_object_graph_pb2

from hub_modules.errors import ArtifactError

OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


def read_variables(saved_model: Path) -> dict[str, np.ndarray]:
    """The variables of a TF2 SavedModel: `{full name: array}`.

    Raises:
        ArtifactError: they are missing or damaged.
    """
    with open_checkpoint(saved_model / "variables" / "variables") as reader:
        return {name: reader.get_tensor(key) for name, key in keys_by_full_name(reader).items()}


def variable_shapes(saved_model: Path) -> dict[str, tuple[int, ...]]:
    """`{full name: shape}` of the floating-point variables of a TF2 SavedModel; no values are read.

    Raises:
        ArtifactError: they are missing or damaged.
    """
    with open_checkpoint(saved_model / "variables" / "variables") as reader:
        shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
        named = keys_by_full_name(reader).items()
        return {name: tuple(shapes[key]) for name, key in named if types[key].is_floating}


def keys_by_full_name(reader) -> dict[str, str]:
    """Full name of each variable → its key in the checkpoint of a TF2 SavedModel; else empty.

    Such a checkpoint names variables by position; the full names are in its object graph.
    """
    if not reader.has_tensor(OBJECT_GRAPH_KEY):
        return {}
    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    graph.ParseFromString(bytes(reader.get_tensor(OBJECT_GRAPH_KEY)))
    return {
        attribute.full_name.removesuffix(":0"): attribute.checkpoint_key
        for node in graph.nodes
        for attribute in node.attributes
        if reader.has_tensor(attribute.checkpoint_key)
    }


@contextlib.contextmanager
def open_checkpoint(prefix: Path) -> Iterator:
    """Yields TensorFlow's own reader of a checkpoint's variables.

    Args:
        prefix: path without `.index` and `.data-00000-of-00001`.

    Raises:
        ArtifactError: missing or damaged, or the declared sizes exceed the files. Damage that shows
            only inside the `with` block is reported in the same way.
    """
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        _check_sizes(prefix, reader)
        yield reader
    # Damage surfaces as many types: IndexError, DataLossError, OpError, NotFoundError, …
    except (
        tf.errors.OpError,
        DecodeError,
        IndexError,
        ValueError,
        OSError,
        RuntimeError,
    ) as error:
        raise ArtifactError(
            f"{prefix}: expected a readable TensorFlow checkpoint (.index and .data files), got a "
            f"missing or damaged one ({_first_line(error)}); copy it again"
        ) from error


def _check_sizes(prefix: Path, reader) -> None:
    types = reader.get_variable_to_dtype_map()
    declared = 0
    for name, shape in reader.get_variable_to_shape_map().items():
        if types[name] != tf.string:
            size = types[name].size
            for length in shape:
                size *= int(length)
            declared += size
    stored = sum(file.stat().st_size for file in prefix.parent.glob(f"{prefix.name}.data-*"))
    if declared > stored:
        raise ArtifactError(
            f"{prefix}: expected {declared} bytes of variables, got data files of {stored}; copy "
            "the checkpoint again"
        )


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]
