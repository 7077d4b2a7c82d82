"""From a comparison's folder, or a folder of numbered exports, to an export."""

from pathlib import Path

from hub_modules.manifest import MANIFEST
from tf_adapt.errors import ArtifactError

COMPARISON = "comparison.json"
# Where a comparison exports its recommended cell: decided, else a candidate.
EXPORTS = ("winner", "candidate")


def versions_folder(folder: Path) -> Path:
    """Of a comparison, or its `winner/` or `candidate/`, the folder of the numbered export.

    Other folders are returned as they are.

    Raises:
        ArtifactError: the comparison has exported nothing.
    """
    is_comparison = (folder / COMPARISON).is_file()
    if not is_comparison and folder.name not in EXPORTS:
        return folder
    places = [folder / name for name in EXPORTS] if is_comparison else [folder]
    found = sorted(path.parent.parent for place in places for path in place.glob(f"*/1/{MANIFEST}"))
    if found:
        return found[0]
    if not is_comparison:
        return folder
    raise ArtifactError(
        f"{folder}: expected an export in winner/ or candidate/, got none: the comparison is not "
        "finished, or no cell is above the baseline; run it again, with --export-anyway if need "
        "be, or name one of its runs"
    )


def newest_export(folder: Path) -> Path:
    """As `versions_folder`, and of a folder of numbered exports the newest."""
    folder = versions_folder(folder)
    versions = [
        path.parent for path in folder.glob(f"*/{MANIFEST}") if path.parent.name.isdecimal()
    ]
    if (folder / MANIFEST).is_file() or not versions:
        return folder
    return max(versions, key=lambda path: int(path.name))
