"""Modules from TF Hub URLs: TensorFlow Hub's cache and locks, with a download of bounded time.

TensorFlow Hub's own download has no timeout and unpacks damaged archives. This one writes into the
same cache, with the helpers of TensorFlow Hub's resolver for folder, address and connection.
"""

import hashlib
import http.client
import logging
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from hub_modules.errors import ArtifactError
from hub_modules.storage.archive import unpack
from hub_modules.storage.fetching import check_fetching
from hub_modules.storage.limits import DOWNLOAD_TIMEOUT, limit_seconds

log = logging.getLogger(__name__)
# In each TF_ADAPT_DOWNLOAD_TIMEOUT; a server that sends a byte now and then would hold us for ever.
LEAST_BYTES = 2**14


def fetch(url: str, check: Callable[[Path], None]) -> Path:
    """The folder of a module in TensorFlow Hub's cache; downloaded if it is not there yet.

    Args:
        check: called with the folder before it is kept, for what is kept is not fetched again.

    Raises:
        ArtifactError: the server cannot be reached, sends nothing, or less than
            `LEAST_BYTES`, for TF_ADAPT_DOWNLOAD_TIMEOUT seconds, has no such module, or sends an
            archive that is damaged or unsafe; the cache cannot be written; as `check_fetching` and
            `check`.
        ConfigError: TF_ADAPT_DOWNLOAD_TIMEOUT is not a positive number.
    """
    # Imported here: only URLs need it, and it depends on the deprecated pkg_resources.
    from tensorflow_hub import compressed_module_resolver as compressed
    from tensorflow_hub import resolver

    seconds = limit_seconds(DOWNLOAD_TIMEOUT)
    server = compressed.HttpCompressedFileResolver()
    if not server.is_supported(url):
        raise ArtifactError(
            f"module {url}: expected TFHUB_MODEL_LOAD_FORMAT COMPRESSED or AUTO, got "
            f"{resolver.model_load_format()}: a module is verified as a folder of this machine; "
            "unset it"
        )
    folder = cache_folder() / hashlib.sha1(url.encode("utf-8")).hexdigest()
    if folder.is_dir() and any(folder.iterdir()):
        return folder
    check_fetching(url, is_cached=lambda: False)

    def download(handle: str, aside: str) -> None:
        with _opened(server, _address(compressed, server, handle), handle, seconds) as response:
            progress = resolver.DownloadManager(handle)._log_progress
            unpack(_Body(response, handle, seconds), Path(aside), f"module {handle}", progress)
        check(Path(aside))

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _check_writable(folder.parent)
        _announce_wait(folder)
        return Path(resolver.atomic_download(url, download, str(folder)))
    except (OSError, tf.errors.OpError) as error:
        raise ArtifactError(
            f"module {url}: the cache {folder.parent} cannot be written ({_first_line(error)}); "
            "free space, or set TFHUB_CACHE_DIR to a folder that can be written"
        ) from error


def cache_folder() -> Path:
    """Where TensorFlow Hub keeps what it downloads."""
    from tensorflow_hub import resolver

    return Path(resolver.tfhub_cache_dir(use_temp=True))


def _address(compressed, server, handle: str) -> str:
    mirror = compressed._HUB_TF_GOOGLE_CN
    if handle.startswith(mirror):
        return compressed._GCS_GOOGLE_CN_TEMPLATE % handle.removeprefix(mirror)
    return server._append_compressed_format_query(handle)


def _opened(server, address: str, handle: str, seconds: float):
    try:
        return urllib.request.urlopen(address, timeout=seconds, context=server._context)
    except urllib.error.HTTPError as error:
        raise ArtifactError(
            f"module {handle}: the server says {error.code} {error.reason}; check the address and "
            "the version at its end"
        ) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _unreachable(handle, error, seconds) from None


class _Body:
    """The body of a server's response; timeouts and errors are raised as `ArtifactError`."""

    def __init__(self, response, handle: str, seconds: float):
        self._response = response
        self._handle = handle
        self._seconds = seconds
        self._begun, self._bytes = time.monotonic(), 0

    def read(self, size: int) -> bytes:
        """`size` bytes; fewer at the end."""
        content = bytearray()
        while len(content) < size:
            try:
                chunk = self._response.read1(size - len(content))
            except (OSError, http.client.HTTPException) as error:
                raise _unreachable(self._handle, error, self._seconds) from None
            if not chunk:
                break
            content += chunk
            self._check_speed(len(chunk))
        return bytes(content)

    def _check_speed(self, count: int) -> None:
        self._bytes += count
        waited = time.monotonic() - self._begun
        if waited < self._seconds:
            return
        if self._bytes < LEAST_BYTES:
            got = f"the server sent {self._bytes} bytes in {waited:.3g} seconds"
            raise _not_fetched(self._handle, got)
        self._begun, self._bytes = time.monotonic(), 0


def _unreachable(handle: str, error: Exception, seconds: float) -> ArtifactError:
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return _not_fetched(handle, f"the server was silent for {seconds:g} seconds")
    return _not_fetched(handle, _first_line(reason), longer="")


def _not_fetched(
    handle: str, got: str, longer: str = f" (a longer limit: {DOWNLOAD_TIMEOUT})"
) -> ArtifactError:
    return ArtifactError(
        f"module {handle}: cannot be fetched: {got}; connect to the network{longer}, or download "
        "it elsewhere and give its folder as the handle (TFHUB_CACHE_DIR is "
        f"{os.environ.get('TFHUB_CACHE_DIR') or 'not set'})"
    )


def _check_writable(cache: Path) -> None:
    # On a read-only file system TensorFlow Hub would retry forever to write its lock.
    if not os.access(cache, os.W_OK | os.X_OK):
        raise PermissionError("not writable")


def _announce_wait(folder: Path) -> None:
    lock = Path(f"{folder}.lock")
    if lock.exists():
        log.warning(
            "another process downloads this module; waiting for it, or for %s to be ten minutes "
            "without progress (if none does, remove that file)",
            lock,
        )


def _first_line(error) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]
