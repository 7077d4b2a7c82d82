"""Files that runs read, on nodes of a cluster that do not see the file system they are on.

A node that has no file at a path gets one from the machine of the comparison: a link to a copy that
is kept under its hash, so that a file that has changed is brought again. A file of its own is
compared by its hash.
"""

import functools
import hashlib
import os
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from hub_modules.keras_hub.handles import PREFIX
from hub_modules.storage.files import sha256, write_bytes
from tf_adapt.config.paths import named_paths
from tf_adapt.config.sections import Config
from tf_adapt.errors import ConfigError, DataError

STORE = Path("~/.cache/tf_adapt/shipped")
_WRITTEN = ("features", "cache")  # the key of a folder that runs write, each node its own


def read_files(configs: Iterable[Config], out: Path) -> dict[str, str]:
    """The hashes of the files that configs name, by absolute path, but for those in `out`.

    Raises:
        DataError: one cannot be read, or was removed meanwhile.
    """
    places: set[Path] = set()
    for config in configs:
        places |= {Path(path) for key, path in named_paths(config) if key != _WRITTEN}
        handles = (getattr(config.encoder, name) for name in config.encoder.HANDLES)
        places |= {Path(handle.removeprefix(PREFIX)) for handle in handles if handle}
    files = (file for place in places if out not in place.parents for file in _files(place))
    try:
        return {str(file): _hash(file) for file in sorted(files)}
    except OSError as error:
        raise DataError(
            f"{error.filename}: expected a file that nodes of the cluster can be given, got "
            f"{error.strerror}; leave what a comparison reads as it is until its end"
        ) from None


def missing(files: Mapping[str, str], store: Path = STORE) -> list[str]:
    """The paths at which this machine has no file, or one that was brought and has changed.

    Raises:
        ConfigError: it has another one there that was not brought.
    """
    store = store.expanduser()
    lacks = []
    for path, hash in files.items():
        is_there = _has(Path(path), hash)
        if not is_there:
            lacks.append(path)
        if is_there is False and not _was_brought(Path(path), store):
            raise ConfigError(
                f"{path}: expected the file of the machine of the comparison, got another one on "
                f"node {socket.gethostname()}; copy it there, or remove that one"
            )
    return lacks


def place(contents: Mapping[str, bytes], files: Mapping[str, str], store: Path = STORE) -> None:
    """Puts files at their paths.

    Raises:
        DataError: one has changed since its hash was computed.
        ConfigError: they cannot be written there.
    """
    store = store.expanduser()
    for path, content in contents.items():
        if hashlib.sha256(content).hexdigest() != files[path]:
            raise DataError(
                f"{path}: expected a file that stays as it is during a comparison, got another "
                "content; run the command again"
            )
        kept, link = store / files[path], Path(path)
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            link.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(kept, content)
            new = link.with_name(f"{link.name}.{os.getpid()}")
            new.symlink_to(kept)
            new.replace(link)
        except OSError as error:
            raise ConfigError(
                f"{path}: expected a file on each node of the cluster, got none, and none can be "
                f"written there ({error.strerror}); use a path on a file system that all nodes "
                "share"
            ) from None


def _files(place: Path) -> Iterable[Path]:
    if not place.is_absolute():  # the name of a shipped module, an address
        return []
    return filter(Path.is_file, place.rglob("*") if place.is_dir() else [place])


def _hash(path: Path) -> str:
    status = path.stat()
    return _hash_then(path, status.st_mtime_ns, status.st_size)


@functools.cache
def _hash_then(path: Path, changed: int, size: int) -> str:
    """The hash of a file as it was at a time."""
    return sha256(path)


def _has(path: Path, hash: str) -> bool | None:
    """Whether the file at a path is that of a hash; None: there is none."""
    try:
        return _hash(path) == hash
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # it cannot be read
        return False


def _was_brought(path: Path, store: Path) -> bool:
    return path.is_symlink() and path.readlink().parent == store
