"""Files and folders that are whole or absent: written aside, flushed, then renamed into place."""

import contextlib
import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from tf_adapt.errors import ArtifactError


def sha256(path: str | Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe(path: str | Path) -> dict[str, int | str]:
    """What a record says of a file, to find any change of it later: `bytes` and `sha256`."""
    return {"bytes": Path(path).stat().st_size, "sha256": sha256(path)}


def difference(path: str | Path, described: Mapping[str, int | str]) -> str | None:
    """Which part of `describe` is no longer so, "bytes" or "sha256"; None where the file is intact.

    Raises:
        OSError: the file cannot be read.
    """
    if Path(path).stat().st_size != described.get("bytes"):
        return "bytes"
    return None if sha256(path) == described.get("sha256") else "sha256"


def write_bytes(path: str | Path, content: bytes) -> None:
    """Writes a file so that readers see the old content or the new one, never a part.

    Raises:
        ArtifactError: the disk is full or the folder is not writable; the old file is intact.
    """
    path = Path(path)
    aside = _aside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(aside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        rename(aside, path)
    except OSError as error:
        raise _not_written(path, error) from error
    finally:
        with contextlib.suppress(OSError):  # also where a part of the path is a file
            aside.unlink()


def write_text(path: str | Path, text: str) -> None:
    """Writes UTF-8 text with `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


@contextlib.contextmanager
def publish_folder(path: str | Path) -> Iterator[Path]:
    """Yields an empty folder beside `path`; on success it is renamed to `path`.

    Raises:
        ArtifactError: `path` already exists, or cannot be written.
    """
    path = Path(path)
    if path.exists():
        raise ArtifactError(
            f"{path}: expected a folder that does not exist yet, got an existing one; "
            "choose another name or remove it"
        )
    aside = _aside(path)
    try:
        aside.mkdir(parents=True)
        yield aside
        for file in aside.rglob("*"):
            if file.is_file():
                _flush(file)
        rename(aside, path)
    except OSError as error:
        raise _not_written(path, error) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def rename(source: Path, target: Path) -> None:
    """The moment at which a file or folder comes into being; tests interrupt here."""
    os.replace(source, target)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")


def _not_written(path: Path, error: OSError) -> ArtifactError:
    return ArtifactError(
        f"{path}: cannot be written ({error.strerror or error}); "
        "free space or choose another folder, then run the command again"
    )
