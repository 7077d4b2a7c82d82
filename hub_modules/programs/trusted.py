"""Which programs may run: those that ship, and those that this user wrote or has trusted before.

A manifest proves the integrity of a module, not its origin. A SavedModel that is executed is a
program with the user's rights; it is identified by the hash of its content
(`manifest.module_hash`).
"""

import functools
import logging
import os
from pathlib import Path

from hub_modules.errors import ArtifactError
from hub_modules.shipped import PRETRAINED
from hub_modules.storage.files import sha256

log = logging.getLogger(__name__)

# Programs trusted in this process, also if the record cannot be written.
_here: set[str] = set()


def is_known(content: str) -> bool:
    """Whether a program of this hash ships, or is in this user's record."""
    return content in _shipped() or content in _here or content in _recorded()


def remember(content: str) -> None:
    """Adds a program to this user's record; logs a warning if that cannot be written."""
    if is_known(content):
        return
    _here.add(content)
    path = record_path()
    try:
        if path is None:
            raise OSError("no home folder")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, f"{content}\n".encode("ascii"))
        finally:
            os.close(descriptor)
    except OSError as error:
        log.warning(
            "%s: cannot be written (%s), so the next command will ask again for trust in the "
            "program %s…; set XDG_STATE_HOME to a folder that can be written",
            path or "the record of trusted programs",
            error.strerror or error,
            content[:12],
        )


def check_trusted(content: str, trust: bool, what: str) -> None:
    """Refuses a program that is not known, unless the user trusts it.

    Raises:
        ArtifactError: it is not known, and `trust` is False.
    """
    if trust or is_known(content):
        return
    raise ArtifactError(
        f"{what}: it is a program that would run with your rights, and neither ships with this "
        "project nor was written or trusted by you before; a manifest proves that it is whole, "
        "not who made it; if you trust where it comes from, say so once: --trust (of `tf-adapt "
        "predict`, `tf-adapt module inspect` and others), trust=True in Python, trust: true in a "
        "config"
    )


def record_path() -> Path | None:
    """The file of this user's record, one hash a line; None without a home folder."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # By the XDG specification, a relative path is ignored.
    folder = Path(state if os.path.isabs(state) else os.path.expanduser("~/.local/state"))
    return folder / "tf_adapt" / "trusted_programs" if folder.is_absolute() else None


@functools.cache
def _shipped() -> frozenset[str]:
    return frozenset(sha256(path) for path in PRETRAINED.glob("*/manifest.json"))


def _recorded() -> frozenset[str]:
    path = record_path()
    try:
        lines = b"" if path is None else path.read_bytes()
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        log.warning("%s: cannot be read (%s): no program counts as trusted", path, error.strerror)
        return frozenset()
    return frozenset(lines.decode("ascii", "replace").split())
