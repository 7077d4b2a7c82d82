"""Words for a mistake in a config: what was expected, what was found, the nearest valid name."""

import difflib
import math
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from tf_adapt.strict_yaml import float_text


def describe(model: type[BaseModel], error: dict) -> str:
    """One of pydantic's error records for `model`, in the words of the key's own description."""
    location = error["loc"]
    if error["type"] == "extra_forbidden":
        return _unknown_key(model, location)
    field = _field(model, location)
    expected = "a section" if field is None else field.description
    if error["type"] == "missing":
        return f"expected {expected}, but the key is missing; add it"
    return f"expected {expected}, got {shown(error['input'])}{_hint(error['input'])}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`; did you mean X?` for the nearest of the names, or nothing."""
    nearest = difflib.get_close_matches(name, list(names), 1)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def shown(value: Any) -> str:
    """A value as messages show it: short, `null` as in YAML."""
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "a list"
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _sections(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The keys of a section that are sections themselves."""
    found = {}
    for name, field in model.model_fields.items():
        for candidate in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                found[name] = candidate
    return found


def _field(model: type[BaseModel], location: tuple):
    field = None
    for part in location:
        if isinstance(part, str):  # a number is an element of a list, described with its list
            field = model.model_fields.get(part, field)  # a user's own name: with its section
            model = _sections(model).get(part, model)
    return field


def _unknown_key(model: type[BaseModel], location: tuple) -> str:
    key, section = location[-1], model
    for part in location[:-1]:
        section = _sections(section).get(part, section)  # else a number, or a user's own name
    names = sorted(section.model_fields)
    elsewhere = [
        f"{home}.{key}"
        for home, other in (_sections(section) | _sections(model)).items()
        if key in other.model_fields
    ]
    nearest = difflib.get_close_matches(key, names, 1) or elsewhere
    if nearest:
        return f"unknown key; did you mean {nearest[0]}?"
    return f"unknown key; expected one of {', '.join(names)}"


def _hint(value: Any) -> str:
    if isinstance(value, bool):
        return "; YAML reads yes, no, on and off as true or false: write text in quotes"
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return ""
        if math.isfinite(number):
            return f"; a number is written without quotes: {float_text(number)}"
    return ""
