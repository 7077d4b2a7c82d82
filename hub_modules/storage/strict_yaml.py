"""YAML text → plain dicts, lists and scalars, with the line of every key.

A subset on purpose: no anchors, aliases, merge keys or tags, one document, unique keys that are
text. Every error is a `ConfigError` with its position.
"""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from hub_modules.errors import ConfigError

LARGEST_BYTES = 1_000_000
DEEPEST_NESTING = 20
MOST_VALUES = 10_000
_OF_DATA = (".csv", ".tsv", ".jsonl", ".conll", ".gz")
# Errors of PyYAML for invalid values such as 2020-99-99 and 0b_.
_UNREADABLE = (ValueError, ArithmeticError, LookupError, TypeError, AttributeError)
# YAML escapes can produce them, and no file name or text may hold them.
_FORBIDDEN = re.compile("[\0\ud800-\udfff]")

KeyPath = tuple[str | int, ...]


def read_yaml(path: str | Path) -> tuple[Any, dict[KeyPath, int]]:
    """Reads a YAML file: its content, and the line (from 1) of each key path.

    Raises:
        ConfigError: not a readable text file, over `LARGEST_BYTES`, or refused by `parse_yaml`.
    """
    path = Path(path)
    if path.suffix.lower() in _OF_DATA:
        raise ConfigError(
            f"{path}: expected a config (YAML), got what is named as a data file; `tf-adapt init "
            f"{shlex.quote(str(path))}` writes a first config for it"
        )
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_BYTES + 1)  # a device may be endless
            size = max(len(content), os.fstat(file.fileno()).st_size)
        if size > LARGEST_BYTES:
            raise ConfigError(
                f"{path}: expected a config of at most {LARGEST_BYTES} bytes, got {size}; "
                "is this the right file?"
            )
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: expected UTF-8 text, got byte 0x{error.object[error.start]:02X} at offset "
            f"{error.start}; save the file as UTF-8"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: cannot be read ({reason}); give a YAML config file") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, where: str) -> tuple[Any, dict[KeyPath, int]]:
    """Parses one YAML document; `where` names it in messages.

    Raises:
        ConfigError: a syntax error, a duplicate key, an alias, a tag, an ambiguous or invalid
            value, more than `MOST_VALUES`, or nesting deeper than `DEEPEST_NESTING`; the message
            has the line and the column.
    """
    lines: dict[KeyPath, int] = {}
    loader = None
    try:
        loader = _ShallowLoader(text)
        node = loader.get_single_node()
        content = None if node is None else _construct(loader, node, (), lines, where)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "not valid YAML"
        raise ConfigError(f"{_position(where, mark)}: {problem}; correct the YAML") from None
    except yaml.reader.ReaderError as error:
        raise ConfigError(
            f"{where}: expected printable text, got character U+{error.character:04X} at offset "
            f"{error.position}; remove it"
        ) from None
    except _UNREADABLE as error:  # an invalid escape or directive
        mark = None if loader is None else loader.get_mark()
        raise ConfigError(f"{_position(where, mark)}: {error}; correct the YAML") from None
    return content, lines


class _ShallowLoader(yaml.SafeLoader):
    """The safe loader; refuses aliases, tags, deep nesting and too many values while parsing."""

    def __init__(self, text: str):
        super().__init__(text)
        self._depth = self._values = 0

    def compose_node(self, parent, index):
        event = self.peek_event()
        if getattr(event, "anchor", None) is not None:
            raise yaml.composer.ComposerError(
                None, None, "expected plain values, got an anchor or alias", event.start_mark
            )
        if getattr(event, "tag", None) is not None:
            raise yaml.composer.ComposerError(
                None, None, f"expected a plain value, got the tag {event.tag}", event.start_mark
            )
        if self._depth >= DEEPEST_NESTING:
            raise yaml.composer.ComposerError(
                None, None, f"expected at most {DEEPEST_NESTING} nested levels", event.start_mark
            )
        if self._values >= MOST_VALUES:
            raise yaml.composer.ComposerError(
                None, None, f"expected at most {MOST_VALUES} keys and values", event.start_mark
            )
        self._depth += 1
        self._values += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _construct(
    loader: yaml.SafeLoader, node: yaml.Node, path: KeyPath, lines: dict, where: str
) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _construct_mapping(loader, node, path, lines, where)
    if isinstance(node, yaml.SequenceNode):
        return [
            _construct(loader, item, (*path, index), lines, where)
            for index, item in enumerate(node.value)
        ]
    if ":" in node.value and node.tag.endswith((":int", ":float")):
        raise ConfigError(
            f"{_position(where, node.start_mark)}: YAML reads {node.value} as a number in base 60; "
            "write it in quotes if it is text"
        )
    try:
        value = loader.construct_object(node)
    except _UNREADABLE as error:
        raise ConfigError(
            f"{_position(where, node.start_mark)}: {error}; write the value in quotes if it is text"
        ) from None
    check_characters(value, _position(where, node.start_mark))
    return value


def check_characters(value: Any, position: str) -> None:
    """Checks that a text can stand in a file, or name one.

    Raises:
        ConfigError: it holds a NUL or half of a surrogate pair.
    """
    forbidden = _FORBIDDEN.search(value) if isinstance(value, str) else None
    if forbidden:
        raise ConfigError(
            f"{position}: expected printable text, got character U+{ord(forbidden[0]):04X}; "
            "remove it"
        )


def _construct_mapping(
    loader: yaml.SafeLoader, node: yaml.MappingNode, path: KeyPath, lines: dict, where: str
) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key_node, value_node in node.value:
        position = _position(where, key_node.start_mark)
        if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != "tag:yaml.org,2002:str":
            raise ConfigError(
                f"{position}: expected a key that is text, got {_shown(key_node)}; "
                "write it in quotes if it is meant so"
            )
        key = key_node.value
        check_characters(key, position)
        if key in content:
            first = lines[(*path, key)]
            raise ConfigError(
                f"{position}: {dotted((*path, key))} is written twice, first on line {first}; "
                "keep one"
            )
        lines[(*path, key)] = key_node.start_mark.line + 1
        content[key] = _construct(loader, value_node, (*path, key), lines, where)
    return content


def dotted(path: KeyPath) -> str:
    """A key path as in messages and after `--set`: `training.learning_rate`."""
    return ".".join(str(part) for part in path)


def float_text(value: float) -> str:
    """A number as YAML 1.1 writes it: with a dot, and a sign in the exponent."""
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return mantissa
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{int(exponent):+d}"


def _position(where: str, mark: yaml.Mark | None) -> str:
    return where if mark is None else f"{where}:{mark.line + 1}:{mark.column + 1}"


def _shown(node: yaml.Node) -> str:
    return repr(node.value) if isinstance(node, yaml.ScalarNode) else f"a {node.id}"
