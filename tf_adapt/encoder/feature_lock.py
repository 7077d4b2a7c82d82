"""The lock of an entry of a cache: one process at a time computes its features."""

import contextlib
import fcntl
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from tf_adapt.errors import ArtifactError

_log = logging.getLogger(__name__)


@contextlib.contextmanager
def locked_entry(folder: Path) -> Iterator[None]:
    """Locks an entry of the cache, waiting for other processes; a lock ends with its process.

    Raises:
        ArtifactError: the folder cannot be written, or has no locks.
    """
    descriptor = _lock_file(folder)
    try:
        try:
            _wait_for(folder, descriptor)
        except OSError as error:
            raise ArtifactError(
                f"{folder}: files cannot be locked there ({error.strerror}); choose another "
                "features.cache, on a local disk"
            ) from None
        yield
    finally:
        os.close(descriptor)


def _wait_for(folder: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
        _log.warning(
            "%s: %s computes or checks what is kept there; waiting until it is done",
            folder,
            f"pid {holder}" if holder.isdecimal() else "another process",
        )
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)


def _lock_file(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ArtifactError(
            f"{folder}: not writable as a cache ({error.strerror}); choose another features.cache"
        ) from None
