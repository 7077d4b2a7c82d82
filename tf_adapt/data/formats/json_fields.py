"""The fields of JSON objects that hold words and tags, or a text and its spans."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tf_adapt.data.formats.json_objects import json_object, json_values
from tf_adapt.data.formats.tagged_json import as_object, is_span
from tf_adapt.errors import DataError

# Usual names, most certain first.
_WORDS = ("tokens", "words")
_TAGS = ("ner_tags", "tags", "labels", "ner", "bio_tags", "iob_tags", "chunk_tags", "pos_tags")
_TEXT = ("text", "sentence", "content")
_SPANS = ("entities", "spans", "label", "labels", "annotations", "ents")


def objects_of(path: str | Path) -> list[dict[str, Any]]:
    """The objects of a file, spaCy's pairs too.

    Raises:
        DataError: as `json_values`; an example is no object.
    """
    return [json_object(as_object(value), where) for where, value in json_values(path)]


def tagged_fields(path: str | Path) -> dict[str, str]:
    """The fields of a file of tagged sentences: `words` and `tags`, or `text_a` and `tags`.

    Raises:
        DataError: as `objects_of`; there are no such fields.
    """
    objects = objects_of(path)
    found = fields_of_tags(objects)
    if found is None:
        raise DataError(
            f"{path}: expected the fields tokens and ner_tags (lists), or text and entities (spans "
            f"[start, end, label]), got {', '.join(map(repr, objects[0]))}; name them: "
            "data.columns: {words: …, tags: …} or {text: …, tags: …}"
        )
    return found


def text_field(path: str | Path, named: Any) -> dict[str, str]:
    """The field of a file of sentences without tags: `words` or `text_a`.

    Args:
        named: its `words` or `text_a` is taken where the file has that field.

    Raises:
        DataError: as `objects_of`; there is none.
    """
    objects = objects_of(path)
    for role in ("words", "text_a"):
        name = getattr(named, role, None)
        if name in objects[0]:
            return {role: name}
    words, text = _first(objects, _WORDS, _are_texts), _first(objects, _TEXT, _is_text)
    if words is None and text is None:
        raise DataError(
            f"{path}: expected the field tokens (a list of words) or text, got "
            f"{', '.join(map(repr, objects[0]))}"
        )
    return {"text_a": text} if words is None else {"words": words}


def fields_of_tags(objects: Sequence[dict[str, Any]]) -> dict[str, str] | None:
    """As `tagged_fields`; None where there are no such fields."""
    words, text = _first(objects, _WORDS, _are_texts), _first(objects, _TEXT, _is_text)
    spans = _first(objects, _SPANS, _are_spans)
    if words is not None:

        def fits(value: Any, of: dict) -> bool:
            is_list = isinstance(value, list) and len(value) == len(of[words])
            return is_list and all(isinstance(tag, str | int) for tag in value)

        tags = _first(objects, _TAGS, fits)
        if tags is not None:
            return {"words": words, "tags": tags}
    return None if text is None or spans is None else {"text_a": text, "tags": spans}


def _first(
    objects: Sequence[dict[str, Any]], names: Sequence[str], fits: Callable[[Any, dict], bool]
) -> str | None:
    """The first of some names whose field fits in every object that has it."""
    for name in names:
        having = [fields for fields in objects if fields.get(name) is not None]
        # Empty lists fit anything.
        is_filled = any(fields[name] for fields in having)
        if is_filled and all(fits(fields[name], fields) for fields in having):
            return name
    return None


def _is_text(value: Any, of: dict) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any, of: dict) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _are_spans(value: Any, of: dict) -> bool:
    return isinstance(value, list) and all(map(is_span, value))
