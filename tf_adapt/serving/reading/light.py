"""Light exports as functions of texts. Imports no TensorFlow."""

from pathlib import Path
from typing import Any

import numpy as np

from hub_modules.engines.names import OPENVINO_INT8
from tf_adapt.errors import ConfigError
from tf_adapt.light.light_model import LightModel
from tf_adapt.serving.kinds import KINDS
from tf_adapt.serving.reading.opened import PREDICT, Answer, Columns, Opened, Outputs
from tf_adapt.tasks.task import Task

# The types of outputs in TensorFlow Serving's metadata; of the others it is text.
_TYPES = {
    **dict.fromkeys(("score", "scores"), "DT_FLOAT"),
    **dict.fromkeys(("start", "end"), "DT_INT32"),
}


def opened(folder: Path, content: str, trust: bool, engine: str) -> Opened:
    """See `tf_adapt.serving.reading.opened.opened`: there is no program to trust, and one engine.

    Raises:
        ConfigError: the engine is one that rounds weights.
    """
    if engine == OPENVINO_INT8:
        raise ConfigError(
            f"--engine {engine}: expected none for {folder}, whose precision was chosen when it "
            "was written; export the run again with --format openvino --precision int8"
        )
    model = LightModel(folder, verified=True)

    def answer(name: str) -> Answer:
        def answered(columns: Columns) -> Outputs:
            return {key: _array(values) for key, values in model.answer(columns, name).items()}

        return answered

    return Opened(answer, {name: _definition(task) for name, task in model.tasks.items()})


def _array(values: Any) -> np.ndarray:
    return np.array(values, object) if isinstance(values, list) else values


def _definition(task: Task) -> dict[str, Any]:
    """A signature as TensorFlow Serving shows it: the sizes of batch and time are not known."""
    row = KINDS[task.kind]
    rank = max(row.inputs.values())
    outputs = row.outputs(len(task.labels or ()))
    return {
        "inputs": {
            name: _tensor_info(name, "DT_STRING", [-1] * rank) for name in sorted(row.inputs)
        },
        "outputs": {
            name: _tensor_info(name, _TYPES.get(name, "DT_STRING"), [-1] * rank + [*shape[rank:]])
            for name, shape in sorted(outputs.items())
        },
        "method_name": PREDICT,
    }


def _tensor_info(name: str, dtype: str, sizes: list[int]) -> dict[str, Any]:
    return {
        "dtype": dtype,
        "tensor_shape": {
            "dim": [{"size": str(size), "name": ""} for size in sizes],
            "unknown_rank": False,
        },
        "name": name,
    }
