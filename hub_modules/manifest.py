"""The manifest of a module or an export: what it is, and the SHA-256 of each of its files.

`manifest.json` holds the contract (kind, encoder configuration, layer groups, weights) and the
files; `manifest.sha256` holds the hash of `manifest.json`, so that a change in either is detected.
"""

import hashlib
import json
import os
from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.huggingface_handles import NATIVE, files_read, model_type
from hub_modules.manifest_schemas import SCHEMAS, Manifest, ManifestKeys
from hub_modules.storage.files import changed_part, describe, sha256, write_bytes
from hub_modules.storage.json_files import parse_json, read_bytes

FORMAT = 1
MANIFEST, SEAL = "manifest.json", "manifest.sha256"
# The files with a hash, in a module and in an export for serving: SavedModels, the vocabulary, the
# task or tasks. Notes (README, licence) may be edited freely.
COVERED = (
    "encoder",
    "preprocess",
    "vocab.txt",
    "merges.txt",
    "added_tokens.json",
    "output_layer.npz",
    "output_words.txt",
    "saved_model.pb",
    "fingerprint.pb",
    "variables",
    "assets",
    "task.json",
    "tasks.json",
    "light.json",
    "graphs",
    "tokenizers",
)


def write_manifest(folder: str | Path, contract: dict) -> None:
    """Hashes the module's files and writes the manifest and its seal."""
    folder = Path(folder)
    files = {path.relative_to(folder).as_posix(): describe(path) for path in _covered_files(folder)}
    text = json.dumps({"format": FORMAT, **contract, "files": files}, indent=1, ensure_ascii=False)
    content = text.encode("utf-8")
    write_bytes(folder / MANIFEST, content)
    write_bytes(folder / SEAL, hashlib.sha256(content).hexdigest().encode() + b"\n")


def read_manifest(folder: str | Path) -> Manifest | None:
    """The manifest of a module or export, or None where there is none.

    Raises:
        ArtifactError: the manifest was changed, is damaged, of a newer format or an unknown kind.
    """
    path, seal = Path(folder) / MANIFEST, Path(folder) / SEAL
    if not path.is_file() and not seal.is_file():
        return None
    content = read_bytes(path)
    expected = read_bytes(seal, _LONGEST_SEAL).strip().decode("ascii", "replace")
    if hashlib.sha256(content).hexdigest() != expected:
        raise ArtifactError(f"{path}: its SHA-256 is not the one in {SEAL}; {_ADVICE}")
    about = parse_json(content, ManifestKeys, str(path))
    if about.format != FORMAT:
        raise ArtifactError(
            f"{path}: expected format {FORMAT}, got {about.format}; install the version of "
            "tf_adapt that wrote it"
        )
    if about.kind not in SCHEMAS:
        raise ArtifactError(
            f"{path}: kind: expected one of {', '.join(SCHEMAS)}, got {about.kind[:40]!r}; "
            f"{_ADVICE}"
        )
    return parse_json(content, SCHEMAS[about.kind], str(path))


def module_hash(folder: str | Path) -> str:
    """One hash for the whole module: of its manifest where there is one, else of its files; of a
    folder of HuggingFace's format, of those that are read. A file of word vectors is hashed itself.

    The hash of a manifest covers the files only after `verify`.

    Raises:
        ArtifactError: a file cannot be read.
    """
    folder = Path(folder)
    try:
        if folder.is_file():
            return sha256(folder)
        if (folder / SEAL).is_file():
            return sha256(folder / MANIFEST)
        files = files_read(folder) if model_type(folder) in NATIVE else _files(folder)
        lines = [f"{path.relative_to(folder).as_posix()} {sha256(path)}" for path in files]
    except OSError as error:
        raise ArtifactError(f"{folder}: cannot be read ({error}); {_ADVICE}") from None
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def verify(folder: str | Path, manifest: Manifest) -> None:
    """Compares every file of the module with the manifest, before anything is loaded.

    Raises:
        ArtifactError: a file is missing, has another size or hash, or was added.
    """
    folder = Path(folder)
    for name, record in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise ArtifactError(f"{folder}: file {name} is missing; {_ADVICE}")
        changed = changed_part(path, record.model_dump())
        if changed == "bytes":
            raise ArtifactError(
                f"{folder}: file {name}: expected {record.bytes} bytes, "
                f"got {path.stat().st_size}; {_ADVICE}"
            )
        if changed == "sha256":
            raise ArtifactError(
                f"{folder}: file {name} does not have the SHA-256 of the manifest; {_ADVICE}"
            )
    present = {path.relative_to(folder).as_posix() for path in _covered_files(folder)}
    added = sorted(present - set(manifest.files))
    if added:
        raise ArtifactError(
            f"{folder}: files {added} are not in the manifest; remove them, or convert again"
        )


_ADVICE = "it is damaged or was changed: install, convert or export it again"
_LONGEST_SEAL = 1000


def _covered_files(folder: Path) -> list[Path]:
    files: list[Path] = []
    for name in COVERED:
        path = folder / name
        files += [path] if path.is_file() else _files(path)
    return files


def _files(folder: Path) -> list[Path]:
    """All files below a folder, including those in linked folders, which are loaded as well."""
    files: list[Path] = []
    entered: set[Path] = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        for inner in (Path(parent, name) for name in folders):
            if inner.is_symlink() and inner.resolve() in entered:
                raise ArtifactError(
                    f"{inner}: expected a folder with files of its own, got a second link to "
                    f"{inner.resolve()}; copy the files into the module"
                )
            entered |= {inner.resolve()} if inner.is_symlink() else set()
        files += [path for path in (Path(parent, name) for name in names) if path.is_file()]
    return sorted(files)
