"""Atomic writes of files and folders: to a temporary name, flushed, then renamed."""

import contextlib
import errno
import fcntl
import fnmatch
import glob
import hashlib
import os
import re
import shutil
import stat
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from hub_modules.errors import ArtifactError

_NEW_SECONDS = 10


# Folders that this process holds, each with the lock in it and what that lock is.
_held: dict[Path, tuple[Path, os.stat_result]] = {}


@contextlib.contextmanager
def held(folder: Path, lock: Path) -> Iterator[None]:
    """While it lasts, nothing is written below a folder that is no longer the one it was.

    Args:
        lock: a file in the folder that this process has locked; it tells the folder from another
            one of its name.

    Raises:
        ArtifactError: at the end, or from each write below it: the folder was moved, removed or
            replaced.
    """
    folder = folder.absolute()
    _held[folder] = (lock.absolute(), lock.stat())
    try:
        yield
        check_held(folder)
    finally:
        del _held[folder]


def check_held(path: str | Path) -> None:
    """Checks the folders that this process holds and that a path is in.

    Raises:
        ArtifactError: one was moved, removed or replaced.
    """
    path = Path(path).absolute()
    for folder, (lock, before) in list(_held.items()):
        if path != folder and folder not in path.parents:
            continue
        try:
            is_same = os.path.samestat(before, lock.stat())
        except OSError:
            is_same = False
        if not is_same:
            raise ArtifactError(
                f"{folder}: it was moved, removed or replaced by another process; nothing more was "
                "written; bring it back and run the command again"
            )


def sha256(path: str | Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe(path: str | Path) -> dict[str, int | str]:
    """Size and hash of a file, to detect later changes: `bytes` and `sha256`."""
    return {"bytes": Path(path).stat().st_size, "sha256": sha256(path)}


def changed_part(path: str | Path, described: Mapping[str, int | str]) -> str | None:
    """The first key of `describe` that differs, "bytes" or "sha256"; None if the file is intact.

    Raises:
        OSError: the file cannot be read.
    """
    if Path(path).stat().st_size != described.get("bytes"):
        return "bytes"
    return None if sha256(path) == described.get("sha256") else "sha256"


def write_bytes(path: str | Path, content: bytes) -> None:
    """Writes a file as `write_parts`."""
    write_parts(path, [content])


def write_parts(path: str | Path, parts: Iterable[bytes]) -> None:
    """Writes a file so that readers see the old content or the new one, never a part of it.

    A link to a file stays a link; a device or a pipe is written in place.

    Raises:
        ArtifactError: the disk is full or the folder is not writable; the old file is intact.
    """
    if _is_stream(path):
        _write_in_place(Path(path), parts)
        return
    check_held(path)
    path = Path(os.path.realpath(path))
    aside = _aside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(aside, "wb") as file:
            file.writelines(parts)
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

    What killed processes left of the same folder is removed.

    Raises:
        ArtifactError: `path` already exists, or cannot be written.
    """
    path = Path(path)
    check_held(path)
    if path.exists():
        raise ArtifactError(
            f"{path}: expected a folder that does not exist yet, got an existing one; "
            "choose another name"
        )
    aside = _aside(path)
    _remove_abandoned(path)
    try:
        aside.mkdir(parents=True)
        with _locked(aside):
            yield aside
            for file in aside.rglob("*"):
                if file.is_file():
                    _flush(file)
            check_held(path)
            rename(aside, path)
    except OSError as error:
        raise _not_written(path, error) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Holds a lock on a folder, which a killed process loses; BlockingIOError: another holds it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _remove_abandoned(path: Path) -> None:
    for other in path.parent.glob(f".{glob.escape(path.name)}.*"):
        # A new one may not be locked yet; a system without locks leaves all.
        with contextlib.suppress(OSError):
            if is_leftover(other.name, glob.escape(path.name)) and _age(other) > _NEW_SECONDS:
                with _locked(other):
                    shutil.rmtree(other)


def _age(path: Path) -> float:
    return time.time() - path.lstat().st_mtime


def is_leftover(name: str, *patterns: str) -> bool:
    """Whether a name is the temporary one of an unfinished write whose target matches a pattern.

    Args:
        patterns: as in a shell, such as `checkpoint_*`.
    """
    match = _ASIDE.fullmatch(name)
    return match is not None and any(fnmatch.fnmatchcase(match[1], pattern) for pattern in patterns)


def remove_leftovers(folder: Path, *patterns: str) -> None:
    """Removes the unfinished writes (`is_leftover`) of a killed process.

    Call it only on a folder of this project, while holding its lock.
    """
    for path in list(folder.iterdir()) if folder.is_dir() else []:
        if not is_leftover(path.name, *patterns):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def rename(source: Path, target: Path) -> None:
    """Moves a finished file or folder to its final name, atomically; tests interrupt here."""
    os.replace(source, target)


def why_no_name(path: str) -> str | None:
    """Why the system allows no file or folder of this name; None if it does."""
    try:
        os.lstat(path)
    except ValueError as error:  # a NUL, or half of a surrogate pair
        return str(error)
    except OSError as error:
        if not path or error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            return error.strerror if path else "an empty name"
    return None


def _is_stream(path: str | Path) -> bool:
    """Whether a path is a device, a pipe, or one of this process's open descriptors."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    by_descriptor = str(path).startswith(("/dev/std", "/dev/fd/", "/proc/"))
    return by_descriptor or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _write_in_place(path: Path, parts: Iterable[bytes]) -> None:
    try:
        with open(path, "ab") as stream:  # a file behind a descriptor may have content
            stream.writelines(parts)
    except OSError as error:
        raise _not_written(path, error) from error


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_ASIDE = re.compile(r"\.(.+)\.[0-9a-f]{32}\.partial", re.DOTALL)


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")


def _not_written(path: Path, error: OSError) -> ArtifactError:
    return ArtifactError(
        f"{path}: cannot be written ({error.strerror or error}); "
        "free space or choose another folder, then run the command again"
    )
