"""What the README of a module says of licences."""

from pathlib import Path


def licence_notes(folder: Path) -> str | None:
    """The paragraphs of a folder's README.md, but for tables, that speak of a licence, or None."""
    readme = folder / "README.md"
    if not readme.is_file():
        return None
    parts = [part.strip() for part in readme.read_text("utf-8", "replace").split("\n\n")]
    paragraphs = [part for part in parts if "licen" in part.casefold() and not part.startswith("|")]
    return "\n\n".join(paragraphs) or None
