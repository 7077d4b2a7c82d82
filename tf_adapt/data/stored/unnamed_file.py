"""A file without a name: it is gone when nothing refers to it, however the process ends.

It is read with `pread`, not through a memory map, whose touched pages count as memory of the
process.
"""

import os
import tempfile
from pathlib import Path

from hub_modules.storage.user_cache import user_cache
from tf_adapt.errors import ArtifactError


class UnnamedFile:
    """A file in `TMPDIR`, else in the user's cache, to which bytes are appended.

    Attributes:
        size: bytes.

    Raises:
        ArtifactError: the folder cannot be written.
    """

    def __init__(self):
        self.size = 0
        self._folder = Path(os.environ.get("TMPDIR") or user_cache() or tempfile.gettempdir())
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise self._refused(error) from None

    def append(self, content: bytes) -> None:
        """Writes at the end.

        Raises:
            ArtifactError: the disk is full.
        """
        rest = memoryview(content).cast("B")
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise self._refused(error) from None
        self.size += len(content)

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` to before `end`; any thread may ask for them."""
        parts = []
        while start < end:
            parts.append(os.pread(self._file.fileno(), end - start, start))
            start += len(parts[-1])
        return b"".join(parts)

    def _refused(self, error: OSError) -> ArtifactError:
        return ArtifactError(
            f"{self._folder}: data beyond data.memory_mb cannot be kept there ({error.strerror}, "
            f"after {self.size / 1e6:,.0f} MB); free space, set TMPDIR to another folder, or raise "
            "data.memory_mb"
        )
