"""What the README of a module says of licences."""

import re
from pathlib import Path

_HEADER = re.compile(r"---\n(.*?)\n---(\n|$)", re.DOTALL)
_LICENCE = re.compile(r"^license: *([\w.-]{1,50}) *$", re.MULTILINE)


def licence_notes(folder: Path) -> str | None:
    """The paragraphs of a folder's README.md, but for tables, that speak of a licence, or None."""
    readme = folder / "README.md"
    if not readme.is_file():
        return None
    parts = [part.strip() for part in readme.read_text("utf-8", "replace").split("\n\n")]
    paragraphs = [part for part in parts if "licen" in part.casefold() and not part.startswith("|")]
    return "\n\n".join(paragraphs) or None


def licence_name(folder: Path) -> str | None:
    """The name of the licence that the header of a folder's README.md states for hubs, or None."""
    readme = folder / "README.md"
    if not readme.is_file():
        return None
    header = _HEADER.match(readme.read_text("utf-8", "replace"))
    found = header and _LICENCE.search(header[1])
    return found[1] if found else None
