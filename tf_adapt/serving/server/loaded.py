"""One version of an export, checked and in memory: its signatures as functions of texts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.framework.types_pb2 import DataType
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from hub_modules.engines.names import TENSORFLOW
from hub_modules.manifest import module_hash
from hub_modules.programs.saved_model import restore_program
from hub_modules.programs.trusted import check_trusted, remember
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.serving.exports.export_parts import signature_in
from tf_adapt.serving.exports.model_card import CARD
from tf_adapt.serving.kinds import KINDS
from tf_adapt.serving.prediction.served_predictions import check_export, tasks_of
from tf_adapt.serving.server.answer_json import Outputs
from tf_adapt.serving.server.limits import RefusedError
from tf_adapt.serving.server.request_json import Columns, Inputs
from tf_adapt.tasks.task import Task

_PREDICT = "tensorflow/serving/predict"
# Of a card or a report, in bytes.
_LONGEST_TEXT = 200_000


@dataclass(frozen=True)
class Signature:
    """A task of an export.

    Attributes:
        inputs: rank by name, see `request_json`.
        call: columns of texts → one value a row for each output; raises `RefusedError` where the
            model refuses a text.
        definition: as in TensorFlow Serving's metadata.
        dataset: the name of the one that the task was trained on; None: own files.
    """

    task: Task
    inputs: Inputs
    call: Callable[[Columns], Outputs]
    definition: dict[str, Any]
    dataset: str | None = None


@dataclass(frozen=True)
class Export:
    """A loaded export: its signatures by name, its model card, and the report behind it.

    Attributes:
        card, report: Markdown; "" where there is none.
    """

    signatures: dict[str, Signature]
    card: str
    report: str


def load_export(folder: Path, trust: bool, engine: str = TENSORFLOW) -> Export:
    """Loads an export and calls each signature once.

    Raises:
        ArtifactError: the folder is no export, or it is damaged, not trusted or not one of ours.
        ConfigError: the engine cannot compute its encoder.
    """
    check_export(folder)
    tasks = tasks_of(folder)
    content = module_hash(folder)
    check_trusted(content, trust, f"export {folder}")
    program = restore_program(folder, content, "export")
    remember(content)
    definitions = _definitions(folder)
    signatures = {}
    for name, (task, dataset) in tasks.items():
        try:
            signature = signature_in(engine, program, name, f"export {folder}", content)
            call = _function(program, signature, inputs_of(task))
            _check_outputs(task, call({key: [_word(r)] for key, r in inputs_of(task).items()}))
            signatures[name] = Signature(task, inputs_of(task), call, definitions[name], dataset)
        except ConfigError:
            raise
        # A signature that is not one of ours may fail in any way.
        except Exception as error:
            problem = (str(error) or type(error).__name__).splitlines()[0][:200]
            raise ArtifactError(
                f"{folder}: expected a signature {name} for {task.kind} with the labels of its "
                f"task, got another one ({problem}); export the run again"
            ) from error
    return Export(signatures, _text(folder / CARD), _report(folder))


def _report(folder: Path) -> str:
    """Of the comparison that the export is the winner or candidate of: `winner/NAME/1`."""
    place = folder.resolve().parents
    if len(place) < 3 or place[1].name not in ("winner", "candidate"):
        return ""
    return _text(place[2] / "report.md")


def _text(path: Path) -> str:
    if not path.is_file():
        return ""
    with open(path, "rb") as file:
        return file.read(_LONGEST_TEXT).decode("utf-8", "replace")


def inputs_of(task: Task) -> Inputs:
    """The inputs of a task's signature: rank by name."""
    return KINDS[task.kind].inputs


def _word(rank: int) -> str | list[str]:
    return ["a"] if rank == 2 else "a"


def _function(program: Any, signature: Any, inputs: Inputs) -> Callable[[Columns], Outputs]:
    """The signature as a function of Python values. The program must live as long as it does."""

    def call(columns: Columns, _program: Any = program) -> Outputs:
        tensors = {
            name: tf.constant(columns[name], tf.string, shape=_shape(columns[name], inputs[name]))
            for name in inputs
        }
        try:
            outputs = sorted(signature(**tensors).items())
            return {name: _values(value.numpy()) for name, value in outputs}
        except tf.errors.InvalidArgumentError as error:
            reason = _reason(error)
            if reason is None:  # TensorFlow's words are for the log
                raise
            raise RefusedError(400, reason) from None

    return call


def _shape(values: list, rank: int) -> list[int]:
    return [len(values), len(values[0])] if rank == 2 else [len(values)]


def _values(array: np.ndarray) -> list:
    if array.dtype != object:
        if not np.isfinite(array).all():
            raise ValueError("expected finite numbers from the model, got others")
        return array.tolist()
    if array.ndim == 1:
        return [value.decode("utf-8") for value in array]
    return [_values(row) for row in array]


def _reason(error: tf.errors.InvalidArgumentError) -> str | None:
    """The message of a check of ours in the graph; None of any other error."""
    text = " ".join(error.message.split())
    _, is_check, reason = text.rpartition("ssertion failed: [")
    for end in ("] [Condition ", "[[{{", "[Op:"):
        reason = reason.split(end)[0]
    return reason.strip(" []")[:300] if is_check else None


def _check_outputs(task: Task, outputs: Outputs) -> None:
    expected = KINDS[task.kind].outputs(len(task.labels or ()))
    got = {name: np.shape(values) for name, values in outputs.items()}
    if got != expected:
        raise ValueError(f"expected the outputs {expected}, got {got}")


def _definitions(folder: Path) -> dict[str, dict[str, Any]]:
    """The signatures of a SavedModel as TensorFlow Serving shows them."""
    file = folder / "saved_model.pb"
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
        if signature.method_name == _PREDICT
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
