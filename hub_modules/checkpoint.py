"""Variables of a SavedModel as arrays, by name, without running any of its program."""

from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import trackable_object_graph_pb2

from tf_adapt.errors import ArtifactError


def read_variables(saved_model: str | Path) -> dict[str, np.ndarray]:
    """Reads the variables of a TF2 SavedModel: `{variable name: array}`.

    Raises:
        ArtifactError: the checkpoint is missing, damaged, or is not one of a TF2 SavedModel.
    """
    prefix = Path(saved_model) / "variables" / "variables"
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        graph = trackable_object_graph_pb2.TrackableObjectGraph.FromString(
            reader.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH")
        )
        keys = {
            attribute.full_name: attribute.checkpoint_key
            for node in graph.nodes
            for attribute in node.attributes
            if attribute.full_name
        }
        return {name: reader.get_tensor(key) for name, key in keys.items()}
    except Exception as error:
        # A damaged checkpoint surfaces as IndexError, ValueError, OSError or any TensorFlow error.
        raise ArtifactError(
            f"{prefix}: cannot be read as the variables of a TF2 SavedModel ({_brief(error)}); "
            "the module is damaged or of another format: fetch or convert it again"
        ) from error


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
