"""Strict reader of JSON files of modules, runs, comparisons and exports, as untrusted input.

Size and depth are bounded, keys unique, numbers finite; then a schema is checked: the result has
its types, or an `ArtifactError` is raised.
"""

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hub_modules.errors import ArtifactError

LARGEST_BYTES = 64 * 2**20
DEEPEST_NESTING = 50

Content = TypeVar("Content", bound="Schema")


class Schema(BaseModel):
    """A JSON object: its keys with their types, nothing converted; keys not named are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def read_json(path: str | Path, schema: type[Content]) -> Content:
    """The content of a JSON file.

    Raises:
        ArtifactError: the file is missing, too large or not JSON, or its content does not fit.
    """
    return parse_json(read_bytes(path), schema, str(path))


def read_bytes(path: str | Path, largest: int = LARGEST_BYTES) -> bytes:
    """The bytes of a file.

    Raises:
        ArtifactError: it is missing, cannot be read, or is larger than `largest`.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(largest + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArtifactError(f"{path}: cannot be read ({reason}); {_ADVICE}") from None
    if len(content) > largest:
        raise ArtifactError(f"{path}: expected at most {largest} bytes, got more; {_ADVICE}")
    return content


def parse_json(content: bytes | str, schema: type[Content], where: str) -> Content:
    """The content of a JSON text.

    Raises:
        ArtifactError: not JSON in UTF-8, nested deeper than `DEEPEST_NESTING`, a duplicate key, a
            number that is not finite, or against the schema; `where` names the file in messages.
    """
    try:
        value = utf8_json_value(content)
    except NestingError as error:
        raise ArtifactError(f"{where}: {error}; {_ADVICE}") from None
    except ValueError as error:
        raise ArtifactError(f"{where}: expected JSON in UTF-8, got {error}; {_ADVICE}") from None
    return checked(schema, value, where)


class NestingError(ValueError):
    """JSON with more levels than `DEEPEST_NESTING`."""

    def __init__(self):
        super().__init__(f"expected at most {DEEPEST_NESTING} nested levels")


def json_value(content: bytes | str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: not JSON in UTF-8, a duplicate key, NaN or Infinity.
        NestingError: more levels than `DEEPEST_NESTING`.
    """
    text = content if isinstance(content, str) else content.decode("utf-8")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except RecursionError:
        raise NestingError from None
    if _is_deep(value):
        raise NestingError
    return value


def utf8_json_value(content: bytes | str) -> Any:
    """As `json_value`, of texts that UTF-8 can hold.

    Raises:
        ValueError, NestingError: as `json_value`; a text has half of a surrogate pair.
    """
    value = json_value(content)
    if ("\\u" if isinstance(content, str) else b"\\u") in content:
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("half of a surrogate pair, which UTF-8 cannot hold") from None
    return value


def checked(schema: type[Content], value: Any, where: str) -> Content:
    """Validates a JSON value against a schema.

    Raises:
        ArtifactError: it does not fit; the message has the path of the first wrong key.
    """
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        path = ".".join(map(str, problem["loc"])) or "the content"
        raise ArtifactError(
            f"{where}: {path}: {problem['msg'][:1].lower()}{problem['msg'][1:]}, got "
            f"{_shown(problem)}; {_ADVICE}"
        ) from None


_ADVICE = "it is damaged, was changed, or is of another version: restore it or make it again"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"a key that is written twice: {_shortened(json.dumps(twice))}")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"the number {constant}, which is not JSON")


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST_NESTING):
        level = [
            item
            for outer in level
            if isinstance(outer, dict | list)
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def _shown(problem: dict[str, Any]) -> str:
    if problem["type"] == "missing":
        return "nothing"
    value = problem["input"]
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return _shortened(json.dumps(value))


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
