"""The formats of exports by name, and what writes each."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_adapt.runs.export_files import DEFAULT
from tf_adapt.serving.exports.export import export
from tf_adapt.serving.exports.shared_export import ServedTask, export_shared
from tf_adapt.serving.light_exports.export import export_light, export_light_ensemble
from tf_adapt.serving.prediction.ensemble import Ensemble


@dataclass(frozen=True)
class Format:
    """A format.

    Args:
        tasks: tasks by name (`serving_default` of one), folder, card, precision → writes them.
        ensemble: an ensemble, folder, how files are read, card → writes it.
        precisions: in which it can be written, beside float32.
    """

    tasks: Callable[[dict[str, ServedTask], Path, str, str | None], Path]
    ensemble: Callable[[Ensemble, Path, dict[str, Any], str], Path]
    precisions: tuple[str, ...]


def _saved_model(
    tasks: dict[str, ServedTask], folder: Path, card: str, precision: str | None
) -> Path:
    if tasks.keys() != {DEFAULT}:
        return export_shared(tasks, folder)
    task = tasks[DEFAULT]
    limits = task.max_length, task.truncate
    return export(task.model, folder, *limits, task.data, task.document_context, card)


def _light_ensemble(ensemble: Ensemble, folder: Path, data: dict[str, Any], card: str) -> Path:
    members = []
    for member in ensemble.members:
        max_length, truncate, document_context = member.limits
        members.append(ServedTask(member.model, max_length, truncate, None, document_context))
    return export_light_ensemble(members, ensemble.combination, folder, data, card)


FORMATS = {
    "savedmodel": Format(_saved_model, Ensemble.export, ("bfloat16", "float16")),
    "openvino": Format(export_light, _light_ensemble, ("bfloat16", "int8")),
}
