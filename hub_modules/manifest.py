"""The manifest of a module or an export: what it is, and the SHA-256 of each of its files.

`manifest.json` holds the contract (kind, encoder configuration, layer groups, weights) and the
files; `manifest.sha256` holds the hash of `manifest.json` itself, so that a change in either shows.
"""

import hashlib
import json
from pathlib import Path

from tf_adapt.errors import ArtifactError
from tf_adapt.files import describe, difference, sha256, write_bytes

FORMAT = 1
MANIFEST, SEAL = "manifest.json", "manifest.sha256"
# What is covered, in a module and in an export for serving: SavedModels, the vocabulary, what is
# said of the task. Notes (README, licence) may be edited freely.
COVERED = (
    "encoder",
    "preprocess",
    "vocab.txt",
    "output_layer.npz",
    "output_words.txt",
    "saved_model.pb",
    "fingerprint.pb",
    "variables",
    "assets",
    "task.json",
)


def write_manifest(folder: str | Path, contract: dict) -> None:
    """Hashes the module's files and writes the manifest and its seal."""
    folder = Path(folder)
    files = {path.relative_to(folder).as_posix(): describe(path) for path in _covered_files(folder)}
    text = json.dumps({"format": FORMAT, **contract, "files": files}, indent=1, ensure_ascii=False)
    content = text.encode("utf-8")
    write_bytes(folder / MANIFEST, content)
    write_bytes(folder / SEAL, hashlib.sha256(content).hexdigest().encode() + b"\n")


def read_manifest(folder: str | Path) -> dict | None:
    """The manifest of a module folder, or None where there is none.

    Raises:
        ArtifactError: the manifest was changed, is damaged, or of a newer format.
    """
    folder = Path(folder)
    if not (folder / MANIFEST).is_file() and not (folder / SEAL).is_file():
        return None
    content = _read(folder / MANIFEST)
    seal = _read(folder / SEAL).strip().decode("ascii", "replace")
    if hashlib.sha256(content).hexdigest() != seal:
        raise ArtifactError(f"{folder / MANIFEST}: its SHA-256 is not the one in {SEAL}; {_ADVICE}")
    manifest = json.loads(content)
    if manifest.get("format") != FORMAT:
        raise ArtifactError(
            f"{folder / MANIFEST}: expected format {FORMAT}, got {manifest.get('format')!r}; "
            "install the version of tf_adapt that wrote it"
        )
    return manifest


def module_hash(folder: str | Path) -> str:
    """One hash for the whole module: of its manifest where there is one, else of its files."""
    folder = Path(folder)
    if (folder / SEAL).is_file():
        return sha256(folder / MANIFEST)
    lines = [
        f"{path.relative_to(folder).as_posix()} {sha256(path)}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()


def verify(folder: str | Path, manifest: dict) -> None:
    """Compares every file of the module with the manifest, before anything is loaded.

    Raises:
        ArtifactError: a file is missing, has another size or hash, or was added.
    """
    folder = Path(folder)
    for name, record in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            raise ArtifactError(f"{folder}: file {name} is missing; {_ADVICE}")
        found = difference(path, record)
        if found == "bytes":
            raise ArtifactError(
                f"{folder}: file {name}: expected {record['bytes']} bytes, "
                f"got {path.stat().st_size}; {_ADVICE}"
            )
        if found == "sha256":
            raise ArtifactError(
                f"{folder}: file {name} does not have the SHA-256 of the manifest; {_ADVICE}"
            )
    present = {path.relative_to(folder).as_posix() for path in _covered_files(folder)}
    added = sorted(present - set(manifest["files"]))
    if added:
        raise ArtifactError(
            f"{folder}: files {added} are not in the manifest; remove them, or convert again"
        )


_ADVICE = "it is damaged or was changed: install, convert or export it again"


def _covered_files(folder: Path) -> list[Path]:
    found = []
    for name in COVERED:
        path = folder / name
        found += [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error.strerror}); {_ADVICE}") from error
