"""`report.json` → the content of a report. Imports no TensorFlow."""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from hub_modules.storage.json_files import read_bytes
from tf_adapt.errors import ArtifactError
from tf_adapt.report.content import FORMAT, Content
from tf_adapt.runs.exports_in import COMPARISON


def read_content(folder: Path) -> Content:
    """The content of a comparison's report.

    Raises:
        ArtifactError: there is none, or it is damaged or of another version.
    """
    path = folder / "report.json"
    if not path.is_file():
        raise ArtifactError(
            f"{folder}: expected the folder of a finished comparison, got {_in_place_of(folder)}"
        )
    advice = "give the command of the comparison again, which writes it"
    try:
        plain = json.loads(read_bytes(path))
        if plain.pop("format", None) != FORMAT:
            raise ArtifactError(
                f"{path}: expected the report of this version (format {FORMAT}), got another; "
                f"{advice}"
            )
        return content_from(plain)
    except (ValueError, AttributeError, TypeError) as error:
        raise ArtifactError(f"{path}: expected a report, got something else; {advice}") from error


def _in_place_of(folder: Path) -> str:
    """What there is without a report, and what to do."""
    ask = "give the folder that `tf-adapt compare` has as --out"
    if not folder.is_dir():
        return f"{'a file' if folder.exists() else 'nothing of that name'}; {ask}"
    if (folder / COMPARISON).is_file():
        return "one that is not; wait until it ends, or give its command again, which goes on"
    return f"one without report.json; {ask}"


def read_finding(path: Path, kind: TypeAdapter, command: str) -> Any:
    """What a command wrote beside a report; None: nothing.

    Raises:
        ArtifactError: the file cannot be read.
    """
    if not path.is_file():
        return None
    try:
        return kind.validate_json(read_bytes(path))
    except ValidationError:
        raise ArtifactError(
            f"{path}: expected what `{command}` wrote, got something else; remove it, and the same "
            "command writes it again"
        ) from None


def content_from(plain: dict[str, Any]) -> Content:
    """The inverse of `to_json`, without the format.

    Raises:
        ValidationError: a value is missing or of another type.
    """
    return TypeAdapter(Content).validate_python(_nested(Content, plain))


def _nested(annotation: Any, plain: Any) -> Any:
    """Plain values with those of inlined fields in a value of their own."""
    if isinstance(plain, list):
        return [_nested(_inner(annotation), part) for part in plain]
    if not isinstance(plain, dict):
        return plain
    classes = [one for one in (annotation, *get_args(annotation)) if is_dataclass(one)]
    if not classes or getattr(annotation, "__origin__", None) is dict:
        return {key: _nested(_inner(annotation), part) for key, part in plain.items()}
    hints, nested = get_type_hints(classes[0]), {}
    for field in fields(classes[0]):
        part = plain if field.metadata.get("inline") else plain.get(field.name)
        if field.metadata.get("inline") or field.name in plain:
            nested[field.name] = _nested(hints[field.name], part)
    return nested


def _inner(annotation: Any) -> Any:
    """`list[X]`, `dict[str, X]`, `X | None` → X; of `dict[str, list[X]]` the list."""
    return next((part for part in get_args(annotation)[::-1] if part is not type(None)), None)
