"""A served model and its versions: a newer folder is loaded, then the older one is drained."""

import asyncio
import contextlib
import gc
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

from hub_modules.engines.names import TENSORFLOW
from hub_modules.manifest import MANIFEST
from tf_adapt.errors import ArtifactError, TfAdaptError
from tf_adapt.runs.exports_in import version_number
from tf_adapt.serving.reading.opened import needs_tensorflow
from tf_adapt.serving.server.batching import Batcher
from tf_adapt.serving.server.limits import Limits, RefusedError
from tf_adapt.serving.server.loaded import Export, load_export

log = logging.getLogger(__name__)

AVAILABLE, LOADING, UNLOADING, END = "AVAILABLE", "LOADING", "UNLOADING", "END"
# Ended versions that a status still names.
_REMEMBERED = 10
# Until a version that could not be loaded is tried again: trust, memory or a disk may have come.
_RETRY_SECONDS = 60.0


@dataclass
class Version:
    """A loaded version.

    Attributes:
        identity: of its folder when it was loaded, see `_identity`.
        active: requests that are being answered by it.
    """

    number: int
    export: Export
    batchers: dict[str, Batcher]
    identity: tuple = ()
    active: int = 0


@dataclass
class _Other:
    """What a status says of a version that is not the one that answers."""

    state: str
    problem: str = ""


@dataclass
class _Failure:
    """A version that could not be loaded: the identity of its folder, and when."""

    identity: tuple
    at: float = field(default_factory=time.monotonic)


@dataclass
class Model:
    """A model by its name: one version answers, a newer one may be loading, an older one draining.

    Attributes:
        folder: of the numbered versions, or one version itself.
        make_batcher: from the name of a signature and its function.
        engine: of the encoders of all versions.
    """

    name: str
    folder: Path
    trust: bool
    make_batcher: Callable[[str, Callable], Batcher]
    current: Version
    engine: str = TENSORFLOW
    _others: dict[int, _Other] = field(default_factory=dict)
    _failed: dict[int, _Failure] = field(default_factory=dict)
    _draining: set[asyncio.Task] = field(default_factory=set)

    @contextlib.contextmanager
    def version(self, number: int | None) -> Iterator[Version]:
        """The version that answers; it is not unloaded in the body.

        Raises:
            RefusedError: another number is asked for.
        """
        version = self.current
        if number not in (None, version.number):
            raise RefusedError(
                404, f"Servable not found for request: Specific({self.name}, {number})"
            )
        version.active += 1
        try:
            yield version
        finally:
            version.active -= 1

    def states(self) -> dict[int, tuple[str, str]]:
        """State and problem of each known version, newest first."""
        known = {number: (other.state, other.problem) for number, other in self._others.items()}
        known[self.current.number] = (AVAILABLE, "")
        return dict(sorted(known.items(), reverse=True))

    async def look(self) -> None:
        """Loads the newest version that is not known to be damaged, if it is not the current one.

        One that cannot be loaded is logged, and tried again when its folder changes, or later.
        """
        now = time.monotonic()
        failed = {
            number: failure.identity
            for number, failure in self._failed.items()
            if now - failure.at < _RETRY_SECONDS
        }
        newest = _newest(self.folder, failed)
        if newest is None:
            return
        number, folder = newest
        identity = _identity(folder)
        if (number, identity) == (self.current.number, self.current.identity):
            return
        before = self._others.get(number)
        self._others[number] = _Other(LOADING)
        try:
            export = await asyncio.to_thread(_load_next, folder, self.trust, self.engine)
        # One that is being removed, or a program that is not one of ours, may fail in any way.
        except Exception as error:
            problem = str(error) if isinstance(error, TfAdaptError) else _first_line(error)
            self._failed[number] = _Failure(identity)
            self._others[number] = _Other(END, problem)
            if before != self._others[number]:  # at another try
                log.error(
                    "%s: version %d is not served, version %d stays: %s",
                    *(self.name, number, self.current.number, problem),
                )
            return
        old = self.current
        self.current = _made(number, export, self.make_batcher, identity)
        self._others.pop(number, None)
        log.info("%s: version %d is served, version %d ends", self.name, number, old.number)
        if old.number != number:
            self._others[old.number] = _Other(UNLOADING)
        task = asyncio.create_task(self._drain(old))
        self._draining.add(task)
        task.add_done_callback(self._draining.discard)

    async def _drain(self, version: Version) -> None:
        while version.active:
            await asyncio.sleep(0.02)
        number = version.number
        if number != self.current.number:
            self._others[number] = _Other(END)
        for old in sorted(self._others)[:-_REMEMBERED]:
            del self._others[old]
        version.batchers.clear()
        version.export.signatures.clear()
        await asyncio.to_thread(gc.collect)


def load_model(
    name: str,
    folder: Path,
    trust: bool,
    executor: Executor,
    limits: Limits,
    observe: Callable[[str, str, int], None],
    engine: str = TENSORFLOW,
) -> Model:
    """Loads the newest version below `folder`, or the version that `folder` is.

    Args:
        observe: is told model, signature and rows of each call.
        engine: of the encoder: see `signature_in`.

    Raises:
        ArtifactError: there is no version, or the newest cannot be loaded.
        ConfigError: the engine cannot compute the encoder.
    """

    def make_batcher(signature: str, call: Callable) -> Batcher:
        return Batcher(call, executor, limits, lambda rows: observe(name, signature, rows))

    newest = _newest(folder, {})
    if newest is None:
        raise ArtifactError(
            f"{folder}: expected a run, an export, or a folder of numbered exports, got none of "
            "them; write one with `tf-adapt export`"
        )
    number, version = newest
    identity = _identity(version)
    current = _made(number, load_export(version, trust, engine), make_batcher, identity)
    return Model(name, folder, trust, make_batcher, current, engine)


def _load_next(folder: Path, trust: bool, engine: str) -> Export:
    """As `load_export`, in a server that runs: what began without TensorFlow stays without it."""
    if "tensorflow" not in sys.modules and needs_tensorflow(folder):
        raise ArtifactError(
            f"{folder}: expected an export of the format openvino, for this server began without "
            "TensorFlow, got a SavedModel; start the server again to serve it"
        )
    return load_export(folder, trust, engine)


def _made(number: int, export: Export, make_batcher: Callable, identity: tuple) -> Version:
    batchers = {
        name: make_batcher(name, signature.call) for name, signature in export.signatures.items()
    }
    return Version(number, export, batchers, identity)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def _newest(folder: Path, failed: dict[int, tuple]) -> tuple[int, Path] | None:
    """Number and folder of the newest version that has not failed as it is now."""
    if (folder / MANIFEST).is_file():
        return (version_number(folder.name) or 1), folder
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    folders = {
        number: folder / name for name in names if (number := version_number(name)) is not None
    }
    for number in sorted(folders, reverse=True):
        whole = (folders[number] / MANIFEST).is_file()
        if whole and failed.get(number) != _identity(folders[number]):
            return number, folders[number]
    return None


def _identity(folder: Path) -> tuple:
    """Changes when a version is published again."""
    try:
        stats = [path.stat() for path in (folder, folder / MANIFEST)]
    except OSError:
        return ()
    return tuple((stat.st_ino, stat.st_mtime_ns) for stat in stats)
