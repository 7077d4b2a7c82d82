"""Modules whose files match their manifest, or that are trusted without one."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub_modules.errors import ArtifactError
from hub_modules.find import find_module
from hub_modules.manifest import module_hash, read_manifest, verify
from hub_modules.manifest_schemas import ModuleManifest
from hub_modules.own_families import OWN_FAMILIES
from hub_modules.programs.trusted import check_trusted, is_known


@dataclass(frozen=True)
class Verified:
    """A module whose files match its manifest, or which is trusted without one.

    Attributes:
        folder: of the module; for preprocessing, the SavedModel itself.
        content: the hash that decides whether its program may run (`hub_modules.programs.trusted`).
    """

    folder: Path
    manifest: ModuleManifest | None
    content: str


def verified_module(handle: str | os.PathLike, trust: bool) -> Verified:
    """The module of a handle.

    Raises:
        ArtifactError: it is missing, damaged or no module; it has no manifest and is not trusted.
    """
    folder = find_module(handle)
    manifest = read_module_manifest(folder)
    content = _checked_content(folder, manifest, trust, f"module {handle}")
    return Verified(folder, manifest, content)


def verified_preprocessor(handle: str | os.PathLike, trust: bool) -> Verified:
    """The SavedModel of a preprocessing module: a program. Its hash is that of its whole module.

    Raises:
        ArtifactError: it is missing, damaged or not trusted.
    """
    folder = find_module(handle)
    inside = folder.name == "preprocess" and read_manifest(folder.parent) is not None
    home = folder.parent if inside else folder
    manifest = read_manifest(home)
    content = _checked_content(home, manifest, trust, f"preprocessing module {handle}")
    check_trusted(content, trust, f"preprocessing module {handle}")
    saved_model = home / "preprocess" if (home / "preprocess").is_dir() else folder
    return Verified(saved_model, manifest, content)


def read_module_manifest(folder: Path) -> ModuleManifest | None:
    """The manifest of a module that can be an encoder, or None where there is none.

    Raises:
        ArtifactError: it is damaged, or that of an export.
    """
    manifest = read_manifest(folder)
    if manifest is None or isinstance(manifest, ModuleManifest):
        return manifest
    raise ArtifactError(
        f"{folder}: expected a module ({' or '.join(OWN_FAMILIES)}), got one of kind "
        f"{manifest.kind!r}; an export is used with `tf-adapt predict`"
    )


def _checked_content(folder: Path, manifest: Any, trust: bool, what: str) -> str:
    """The hash of a module after a check against its manifest, or of `trust` without one."""
    if manifest is not None:
        verify(folder, manifest)
    content = module_hash(folder)
    if manifest is None and not trust and not is_known(content):
        raise ArtifactError(
            f"{what}: it has no manifest, so its files cannot be verified; if you trust where it "
            "comes from, say so with trust=True (--trust, or trust: true in a config)"
        )
    return content
