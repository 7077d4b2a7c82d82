"""From a comparison's folder, or a folder of numbered exports, to an export."""

from pathlib import Path

from hub_modules.manifest import MANIFEST
from tf_adapt.errors import ArtifactError
from tf_adapt.runs.ensemble_folder import is_ensemble
from tf_adapt.runs.run_folder import CONFIG

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
    paths = [path.parent for path in folder.glob(f"*/{MANIFEST}")]
    versions = {version_number(path.name): path for path in paths}
    versions.pop(None, None)
    if (folder / MANIFEST).is_file() or not versions:
        return folder
    return versions[max(versions)]


def version_number(name: str) -> int | None:
    """1 of "1"; folders like "01" are no versions."""
    return int(name) if name.isascii() and name.isdecimal() and str(int(name)) == name else None


def no_run(folder: Path) -> ArtifactError:
    """The error for a folder that is no run."""
    if (folder / MANIFEST).is_file():
        return ArtifactError(
            f"{folder}: expected the folder of a run, got that of an export, which has no trained "
            "weights to go on with; name the folder that `tf-adapt train` wrote"
        )
    if is_ensemble(folder):
        return ArtifactError(
            f"{folder}: expected the folder of a run, got that of an ensemble, which has no model "
            "of its own; load it with tf_adapt.load_ensemble, or name one of its members"
        )
    newest = newest_export(folder)
    hint = "" if newest == folder else f"; did you mean {newest}?"
    return ArtifactError(
        f"{folder}: expected the folder of a run or of an export, but it holds neither "
        f"{CONFIG} nor {MANIFEST}; name the folder that `tf-adapt train` or "
        f"`tf-adapt export` wrote{hint}"
    )
