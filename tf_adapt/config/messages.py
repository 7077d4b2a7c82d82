"""Error messages for configs: what was expected, what was given, the nearest valid name."""

import difflib
import math
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from hub_modules.storage.strict_yaml import KeyPath, dotted, float_text
from tf_adapt.errors import ConfigError
from tf_adapt.printing.words import did_you_mean, our_name

MOST_SHOWN = 10


class Problems:
    """Collects all problems of a config, to report them together.

    Args:
        where: names the config in messages.
        locations: location of each key, as `file:line`; a missing key gets that of the nearest
            section.
    """

    def __init__(self, where: str, locations: dict[KeyPath, str]):
        self.where = where
        self.locations = locations
        self._found: dict[str, None] = {}  # ordered and unique: cells share most of their keys

    def __bool__(self) -> bool:
        return bool(self._found)

    def within(self, where: str, locations: dict[KeyPath, str] | None = None) -> "Problems":
        """The same collection, with another name of the config in new messages, and with other
        locations of some keys."""
        part = Problems(where, self.locations | (locations or {}))
        part._found = self._found
        return part

    def add(self, path: KeyPath, problem: str) -> None:
        """Adds a problem of a key."""
        location = location_of(path, self.where, self.locations)
        self._found[": ".join(filter(None, (location, dotted(path), problem)))] = None

    def copy_locations(self, path: KeyPath, target: KeyPath) -> None:
        """Uses the location of a key, and of all keys below it, for another path as well."""
        for known in [known for known in self.locations if known[: len(path)] == path]:
            self.locations[(*target, *known[len(path) :])] = self.locations[known]

    def refuse(self) -> None:
        """Raises one error with all problems, in one line, if there are any.

        Raises:
            ConfigError: there are problems.
        """
        if self._found:
            problems = list(self._found)
            more = len(problems) - MOST_SHOWN
            raise ConfigError(
                " | ".join(problems[:MOST_SHOWN] + ([f"and {more} more"] if more > 0 else []))
            )


def location_of(path: KeyPath, where: str, locations: dict[KeyPath, str]) -> str:
    """The location of a key, else of the nearest section around it, else `where`."""
    nearest = [path[:n] for n in range(len(path), 0, -1) if path[:n] in locations]
    return locations[nearest[0]] if nearest else where


def describe(model: type[BaseModel], error: dict) -> str:
    """A message for one of pydantic's error records, from the description of the key."""
    location = error["loc"]
    if error["type"] == "extra_forbidden":
        return _unknown_key(model, location)
    field = _field(model, location)
    expected, names = "a section", []
    if field is not None:
        expected, names = field.description, list(_names_in(field.annotation))
    if error["type"] == "missing":
        return f"expected {expected}, but the key is missing; add it"
    return f"expected {expected}, got {shown(error['input'])}{_hint(error['input'], names)}"


def key_path(location: tuple) -> KeyPath:
    """The location of an error record without the type that a union tried in vain, and without the
    mark of a wrong name."""
    return location[:-1] if location and location[-1] in ("int", "float", "[key]") else location


def shown(value: Any) -> str:
    """A value as messages show it: short, `null` as in YAML."""
    if isinstance(value, dict):
        return "a section" if value else "an empty section"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _sections(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The keys of a section that are sections themselves."""
    return dict(_forms(model))


def _forms(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """The keys of a section that are sections, with each form that these may have."""
    for name, field in model.model_fields.items():
        for form in _forms_in(field.annotation):
            yield name, form


def _forms_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The sections in an annotation, also those in lists and by user-defined name."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _forms_in(part)


def _field(model: type[BaseModel], location: tuple):
    field = None
    for part in location:
        if isinstance(part, str):  # a number is an element of a list, described with its list
            field = model.model_fields.get(part, field)  # a user-defined name: its section's
            model = _sections(model).get(part, model)
    return field


def _unknown_key(model: type[BaseModel], location: tuple) -> str:
    key, section = our_name(location[-1]), model
    for part in location[:-1]:
        section = _sections(section).get(part, section)  # else a number or a user-defined name
    names = sorted(section.model_fields)
    elsewhere = [
        f"{home}.{key}"
        for home, other in (*_forms(section), *_forms(model))
        if key in other.model_fields
    ]
    nearest = difflib.get_close_matches(key, names, 1) or elsewhere
    if nearest:
        return f"unknown key; did you mean {nearest[0]}?"
    return f"unknown key; expected one of {', '.join(names)}"


def _names_in(annotation: Any) -> Iterator[str]:
    """The names among which an annotation lets one choose."""
    for part in get_args(annotation):
        if isinstance(part, str):
            yield part
        yield from _names_in(part)


def _hint(value: Any, names: list[str]) -> str:
    if isinstance(value, bool):
        return "; YAML reads yes, no, on and off as true or false: write text in quotes"
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return did_you_mean(value, names)
        if math.isfinite(number):
            return f"; a number is written without quotes: {float_text(number)}"
    return ""
