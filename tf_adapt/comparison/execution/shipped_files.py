"""Files that runs read, on nodes of a cluster that do not see the file system they are on.

A node that has no file at a path gets one from the machine of the comparison: a link to a copy that
is kept under its hash, so that a file that has changed is brought again.
"""

import functools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from hub_modules.keras_hub.handles import PREFIX
from hub_modules.storage.files import sha256, write_bytes
from tf_adapt.config.paths import named_paths
from tf_adapt.config.sections import Config
from tf_adapt.errors import ConfigError

STORE = Path("~/.cache/tf_adapt/shipped")


def read_files(configs: Iterable[Config], out: Path) -> dict[str, str]:
    """The hashes of the files that configs name, by absolute path, but for those in `out`."""
    places: set[Path] = set()
    for config in configs:
        places |= {Path(path) for _, path in named_paths(config)}
        handles = (getattr(config.encoder, name) for name in config.encoder.HANDLES)
        places |= {Path(handle.removeprefix(PREFIX)) for handle in handles if handle}
    files = (file for place in places if out not in place.parents for file in _files(place))
    return {str(file): _hash(str(file)) for file in sorted(files)}


def missing(files: Mapping[str, str], store: Path = STORE) -> list[str]:
    """The paths at which this machine has no file, or one that was brought and has changed."""
    store = store.expanduser()
    return [path for path, hash in files.items() if not _is_there(Path(path), store, hash)]


def place(contents: Mapping[str, bytes], files: Mapping[str, str], store: Path = STORE) -> None:
    """Puts files at their paths.

    Raises:
        ConfigError: they cannot be written there.
    """
    store = store.expanduser()
    for path, content in contents.items():
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


@functools.cache
def _hash(path: str) -> str:
    return sha256(path)


def _is_there(path: Path, store: Path, hash: str) -> bool:
    if path.is_symlink() and path.readlink().parent == store:
        return path.exists() and path.readlink().name == hash
    return path.exists()
