"""The JSON of a request → checked columns of texts, in TensorFlow Serving's formats."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hub_modules.storage.json_files import NestingError, utf8_json_value
from tf_adapt.serving.kinds import SETTINGS
from tf_adapt.serving.server.limits import Limits, RefusedError

DEFAULT = "serving_default"
# Name of an input → its rank: 1 is `[batch] string`, 2 `[batch, texts] string`, 0 a setting of the
# call.
Inputs = Mapping[str, int]
Columns = dict[str, list]
Settings = dict[str, int | float]
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Request:
    """A checked request.

    Attributes:
        signature: the name of a signature that there is.
        columns: for each input the texts, or equally long lists of texts, of all rows.
        by_row: whether the answer is one value a row (`predictions`) or a column (`outputs`).
    """

    signature: str
    columns: Columns
    by_row: bool
    settings: Settings = field(default_factory=dict)


def predict_request(body: bytes, signatures: Mapping[str, Inputs], limits: Limits) -> Request:
    """Reads the body of `:predict`: `instances` (by row) or `inputs` (by column).

    Raises:
        RefusedError: the body is not such JSON, does not fit the signature, or is beyond a limit.
    """
    content = _object(body, {"signature_name", "instances", "inputs"})
    signature = _signature(content, signatures)
    inputs, settings = _divided(signatures[signature])
    if ("instances" in content) == ("inputs" in content):
        raise RefusedError(
            400, "expected one of the keys 'instances' and 'inputs', got both or neither"
        )
    by_row = "instances" in content
    if by_row and settings:
        raise RefusedError(
            400,
            f"instances: expected 'inputs', for {', '.join(settings)} of {signature} are of the "
            "whole request, got rows",
        )
    chosen: Settings = {}
    if by_row:
        columns = _columns_of_rows(_rows(content, "instances"), inputs, "instances")
    else:
        columns = _columns(content["inputs"], inputs | settings)
        chosen = {name: _setting(name, columns.pop(name)) for name in settings}
    return Request(signature, _checked(columns, inputs, limits), by_row, chosen)


def _divided(inputs: Inputs) -> tuple[dict[str, int], dict[str, int]]:
    """The inputs of rows, and the settings of a call."""
    rows = {name: rank for name, rank in inputs.items() if rank}
    return rows, {name: rank for name, rank in inputs.items() if not rank}


def _setting(name: str, value: Any) -> int | float:
    kind = SETTINGS[name]
    expected = {int: "a whole number", float: "a number"}[kind]
    if type(value) not in (int, kind):
        raise RefusedError(400, f"inputs.{name}: expected {expected}, got {_kind(value)}")
    if not -_LARGEST <= value <= _LARGEST:
        raise RefusedError(400, f"inputs.{name}: expected at most {_LARGEST}, got {value}")
    return kind(value)


def example_request(body: bytes, signatures: Mapping[str, Inputs], limits: Limits) -> Request:
    """Reads the body of `:classify` and `:regress`: `examples`, and what they share in `context`.

    Raises:
        RefusedError: as `predict_request`.
    """
    content = _object(body, {"signature_name", "examples", "context"})
    signature = _signature(content, signatures)
    context = content.get("context", {})
    examples = _rows(content, "examples")
    if not isinstance(context, dict):
        raise RefusedError(400, f"context: expected an object, got {_kind(context)}")
    for number, example in enumerate(examples):
        if not isinstance(example, dict):
            raise RefusedError(400, f"examples[{number}]: expected an object, got {_kind(example)}")
    inputs, settings = _divided(signatures[signature])
    if settings:
        raise RefusedError(400, f"signature_name: expected one without settings, got {signature}")
    columns = _columns_of_rows([context | example for example in examples], inputs, "examples")
    return Request(signature, _checked(columns, inputs, limits), True)


def _object(body: bytes, keys: set[str]) -> dict[str, Any]:
    try:
        content = utf8_json_value(body)
    except NestingError as error:
        raise RefusedError(400, str(error)) from None
    except ValueError as error:
        raise RefusedError(400, f"expected JSON in UTF-8, got {error}") from None
    if not isinstance(content, dict):
        raise RefusedError(400, f"expected a JSON object, got {_kind(content)}")
    unknown = content.keys() - keys
    if unknown:
        got = ", ".join(sorted(map(_shown, unknown))[:3])
        raise RefusedError(400, f"expected the keys {', '.join(sorted(keys))}, got {got}")
    return content


def _signature(content: dict[str, Any], signatures: Mapping[str, Inputs]) -> str:
    name = content.get("signature_name", "")
    name = DEFAULT if name == "" else name
    if not isinstance(name, str) or name not in signatures:
        raise RefusedError(
            400, f"signature_name: expected one of {', '.join(signatures)}, got {_shown(name)}"
        )
    return name


def _rows(content: dict[str, Any], key: str) -> list:
    rows = content.get(key)
    if not isinstance(rows, list) or not rows:
        got = "an empty list" if rows == [] else _kind(rows) if key in content else "no such key"
        raise RefusedError(400, f"{key}: expected a list of at least one, got {got}")
    return rows


def _columns_of_rows(rows: list, inputs: Inputs, where: str) -> Columns:
    columns: Columns = {name: [] for name in inputs}
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or row.keys() == {"b64"}:
            if len(inputs) > 1:
                expected = f"an object with the keys {', '.join(inputs)}"
                raise RefusedError(400, f"{where}[{number}]: expected {expected}, got {_kind(row)}")
            row = dict.fromkeys(inputs, row)
        _check_keys(row, inputs, f"{where}[{number}]")
        for name in inputs:
            columns[name].append(row[name])
    return columns


def _columns(content: Any, inputs: Inputs) -> Columns:
    if isinstance(content, list) and len(inputs) == 1:
        content = dict.fromkeys(inputs, content)
    if not isinstance(content, dict):
        expected = "a list" if len(inputs) == 1 else f"an object with the keys {', '.join(inputs)}"
        raise RefusedError(400, f"inputs: expected {expected}, got {_kind(content)}")
    _check_keys(content, inputs, "inputs")
    for name, values in content.items():
        if inputs[name] and (not isinstance(values, list) or not values):
            got = "an empty list" if values == [] else _kind(values)
            raise RefusedError(400, f"inputs.{name}: expected a list of at least one, got {got}")
    return {name: content[name] for name in inputs}


def _check_keys(row: dict[str, Any], inputs: Inputs, where: str) -> None:
    if row.keys() != inputs.keys():
        got = ", ".join(sorted(map(_shown, row))[:3]) or "none"
        raise RefusedError(400, f"{where}: expected the keys {', '.join(inputs)}, got {got}")


def _checked(columns: Columns, inputs: Inputs, limits: Limits) -> Columns:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{count} of {name}" for name, count in lengths.items())
        raise RefusedError(400, f"expected as many values of each input, got {got}")
    rows = next(iter(lengths.values()))
    if rows > limits.request_rows:
        expected = f"at most {limits.request_rows} rows in a request"
        raise RefusedError(400, f"expected {expected}, got {rows}; send several requests")
    checked = {}
    for name, values in columns.items():
        reader = _sentence if inputs[name] == 2 else _text
        checked[name] = [
            reader(value, f"{name}[{number}]", limits.characters)
            for number, value in enumerate(values)
        ]
        if inputs[name] == 2:
            _check_widths(name, checked[name])
    return checked


def _text(value: Any, where: str, most: int) -> str:
    if isinstance(value, dict) and value.keys() == {"b64"}:
        value = _decoded(value["b64"], where)
    if not isinstance(value, str):
        raise RefusedError(400, f"{where}: expected a text, got {_kind(value)}")
    if len(value) > most:
        raise RefusedError(400, f"{where}: expected at most {most} characters, got {len(value)}")
    if "\0" in value:
        raise RefusedError(400, f"{where}: expected text without NUL, got one with it")
    return value


def _sentence(value: Any, where: str, most: int) -> list[str]:
    if not isinstance(value, list):
        raise RefusedError(400, f"{where}: expected a list of texts, got {_kind(value)}")
    words = [_text(word, f"{where}[{number}]", most) for number, word in enumerate(value)]
    characters = sum(map(len, words)) + len(words)
    if characters > most:
        raise RefusedError(400, f"{where}: expected at most {most} characters, got {characters}")
    real = max((number for number, word in enumerate(words, 1) if word), default=0)
    if "" in words[:real]:
        raise RefusedError(
            400,
            f'{where}[{words.index("")}]: expected a text, got ""; only the end of a row is padded '
            "with it",
        )
    return words


def _check_widths(name: str, rows: list[list[str]]) -> None:
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            raise RefusedError(
                400,
                f"{name}[{number}]: expected {width} texts as in the first row, got {len(row)}; "
                'pad shorter rows at their end with ""',
            )


def _decoded(value: Any, where: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode("utf-8")
    except (binascii.Error, TypeError, ValueError):
        raise RefusedError(
            400, f"{where}.b64: expected UTF-8 in base64, got something else"
        ) from None


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


def _shown(value: Any) -> str:
    if not isinstance(value, str):
        return _kind(value)
    return repr(value if len(value) <= 40 else f"{value[:40]}…")
