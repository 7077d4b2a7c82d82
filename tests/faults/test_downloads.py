"""Servers that are silent or gone, and archives that are damaged or dangerous (A4, A5).

Each archive is served over HTTP to `find_module`, as a user's handle is; the file tree around the
cache is compared before and after.
"""

import contextlib
import gzip
import http.server
import io
import os
import socket
import tarfile
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from hub_modules.find import find_module
from hub_modules.storage import archive
from tf_adapt.errors import ArtifactError, ConfigError

FILES = {
    "saved_model.pb": b"graph " * 100,
    "variables/variables.index": b"index",
    "variables/variables.data-00000-of-00001": bytes(range(256)) * 40,
}


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """TensorFlow Hub's cache, in a folder with a neighbour that must not change."""
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "neighbour").write_text("unchanged")
    return tmp_path / "cache"


@contextlib.contextmanager
def served(content: bytes, status: int = 200):
    """The URL of a server that answers every request with these bytes; the paths asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/somebody/bert/1", asked
        server.shutdown()


def member(name: str, content: bytes = b"", **fields) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def packed(*members, format=tarfile.PAX_FORMAT) -> bytes:
    """A `.tar.gz` of the good files and of these members."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", format=format) as tar:
        for info, content in [*(member(*item) for item in FILES.items()), *members]:
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


def of_type(kind: bytes, name: str, target: str = ""):
    return member(name, type=kind, linkname=target)


def tree(folder: Path) -> dict:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def refused(cache: Path, content: bytes, match: str) -> None:
    before = tree(cache.parent) | {"cache": None}
    with served(content) as (url, asked), pytest.raises(ArtifactError, match=match):
        find_module(url)
    assert len(asked) == 1
    assert tree(cache.parent) == before


@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_a5_a_good_archive_is_unpacked_once(cache, format):
    long = "assets/" + "n" * 90 + "/" + "m" * 99
    extra = [of_type(tarfile.DIRTYPE, "./"), of_type(tarfile.DIRTYPE, "./assets")]
    with served(packed(*extra, member(long, b"x"), format=format)) as (url, asked):
        folder = find_module(url)
        assert find_module(url) == folder
    assert asked == ["/somebody/bert/1?tf-hub-format=compressed"]
    assert folder.parent == cache
    expected = FILES | {long: b"x"}
    assert {name: (folder / name).read_bytes() for name in expected} == expected
    assert not list(cache.glob("*.lock")) and not list(cache.glob("*.tmp"))


@pytest.mark.parametrize("files", [{}, {"readme.md": b"x"}, {"module/saved_model.pb": b"x"}])
def test_a5_an_archive_without_a_module_is_not_kept(cache, monkeypatch, files):
    monkeypatch.setattr("tests.faults.test_downloads.FILES", files)
    refused(cache, packed(), "expected an archive of a module, got one without saved_model.pb")


def test_a5_tensorflow_hub_finds_what_was_unpacked(cache):
    import tensorflow_hub

    with served(packed()) as (url, asked):
        folder = find_module(url)
        assert Path(tensorflow_hub.resolve(url)) == folder
        assert len(asked) == 1


MEMBERS = {
    "parent": (member("../x", b"y"), "a name below the folder.*'../x'"),
    "parent inside": (member("variables/../../x", b"y"), "a name below the folder"),
    "absolute": (member("/tmp/tf_adapt_abs", b"y"), "a name below the folder"),
    "the folder itself": (member(".", b"y"), "a name below the folder"),
    "symbolic link": (of_type(tarfile.SYMTYPE, "link", "../neighbour"), "no links, devices"),
    "link out of the way": (of_type(tarfile.SYMTYPE, "assets", "/tmp"), "no links, devices"),
    "hard link": (of_type(tarfile.LNKTYPE, "link", "saved_model.pb"), "no links, devices"),
    "character device": (of_type(tarfile.CHRTYPE, "null"), "no links, devices"),
    "block device": (of_type(tarfile.BLKTYPE, "disk"), "no links, devices"),
    "pipe": (of_type(tarfile.FIFOTYPE, "pipe"), "no links, devices"),
    "sparse": (of_type(tarfile.GNUTYPE_SPARSE, "sparse"), "no links, devices|damaged"),
    "one name twice": (member("saved_model.pb", b"other"), "each name once"),
    "one name in two spellings": (member("./saved_model.pb", b"other"), "each name once"),
    "a file as a folder": (member("saved_model.pb/x", b"y"), "each name once"),
    "a folder as a file": (member("variables", b"y"), "each name once"),
}


def test_a5_members_that_are_no_files_of_the_module(cache):
    for make in MEMBERS:
        extra, match = MEMBERS[make]
        refused(cache, packed(extra), match)
        assert not Path("/tmp/tf_adapt_abs").exists()


def flipped(content: bytes, place: int) -> bytes:
    damaged = bytearray(content)
    damaged[place] ^= 1
    return bytes(damaged)


def test_a5_every_flipped_bit_of_the_content_is_found(cache):
    content = packed()
    # From 10 on: what stands before says when it was packed, and on what system.
    places = [*range(10, len(content), max(1, len(content) // 6)), len(content) - 1]
    for place in [0, 1, 2, *places]:
        refused(cache, flipped(content, place), "damaged|each name|files and folders|a name below")


def test_a5_an_archive_that_was_cut(cache):
    for kept in [0, 5, 200, -20, -8, -1]:
        refused(cache, packed()[:kept], "damaged one or something else")


def test_a5_what_is_no_archive(cache):
    for content in [
        b"<html>not found</html>",
        gzip.compress(b"no archive"),
        packed() + b"more",
        packed() + gzip.compress(b"more"),
        gzip.decompress(packed()),
    ]:
        refused(cache, content, "damaged one or something else")


class Zeros(io.RawIOBase):
    """As many zeros as are asked for, in no memory."""

    def __init__(self, count: int):
        self.left = count

    def readable(self):
        return True

    def readinto(self, buffer):
        count = min(len(buffer), self.left)
        buffer[:count] = bytes(count)
        self.left -= count
        return count


def bomb(kind: bytes, size: int) -> bytes:
    """An archive of one member full of zeros."""
    file = io.BytesIO()
    info = tarfile.TarInfo("variables/zeros")
    info.size, info.type = size, kind
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as stream:
        stream.write(info.tobuf(tarfile.USTAR_FORMAT))
        zeros = Zeros(size)
        while block := zeros.read(2**20):
            stream.write(block)
        stream.write(bytes(1024))
    return file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a5_256_megabytes_of_zeros(cache, monkeypatch, kind):
    """As content of a file; and where a header is expected, which is read into memory."""
    content = bomb(kind, 2**28)
    monkeypatch.setattr(archive, "SMALL_BYTES", 2**22)
    on_disk = []
    write = archive._write

    def measured(content, path):
        try:
            write(content, path)
        finally:
            on_disk.append(path.stat().st_size)

    monkeypatch.setattr(archive, "_write", measured)
    tracemalloc.start()
    try:
        refused(cache, content, "got more after|damaged")
        assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    finally:
        tracemalloc.stop()
    assert max(on_disk, default=0) <= max(2**22, archive.LARGEST_COMPRESSION * len(content)) < 2**26


def test_a5_more_files_than_any_module_has(cache, monkeypatch):
    monkeypatch.setattr(archive, "MOST_ENTRIES", 10)
    refused(cache, packed(*(member(f"assets/{n}") for n in range(8))), "at most 10 files")


def never(connection: socket.socket, over: threading.Event) -> None:
    over.wait(20)


def half(connection: socket.socket, over: threading.Event) -> None:
    content = packed()
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n".encode()
    connection.sendall(head + content[: len(content) // 2])
    over.wait(20)


def trickle(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    for byte in packed():
        connection.sendall(bytes([byte]))
        over.wait(0.05)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (never, "silent for 0.5 seconds.*TF_ADAPT_DOWNLOAD_TIM"),
        (half, "silent for 0.5 seconds"),
        (trickle, "sent [0-9]+ bytes in .*DOWNLOAD_TIMEOUT"),
    ],
)
def test_a4_a_server_that_does_not_come_to_an_end(cache, monkeypatch, answer, message):
    monkeypatch.setenv("TF_ADAPT_DOWNLOAD_TIMEOUT", "0.5")
    over = threading.Event()

    def accept(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            answer(connection, over)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, args=(server,), daemon=True).start()
        start = time.monotonic()
        with pytest.raises(ArtifactError, match=message):
            find_module(f"http://127.0.0.1:{server.getsockname()[1]}/somebody/bert/1")
        over.set()
    assert time.monotonic() - start < 10
    assert not os.listdir(cache)


def test_a4_module_absent_and_network_off(cache):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}/bert/1", "http://tf-adapt.invalid/bert/1"):
        start = time.monotonic()
        with pytest.raises(ArtifactError, match="cannot be fetched: .*connect to the network, or"):
            find_module(url)
        assert time.monotonic() - start < 10
    assert not os.listdir(cache)


def test_a4_a_server_that_has_no_such_module(cache):
    for status in [404, 500]:
        with served(b"no", status) as (url, asked), pytest.raises(ArtifactError, match=f"{status}"):
            find_module(url)
        assert len(asked) == 1
        assert not os.listdir(cache)


def test_a4_limits_that_are_none(cache, monkeypatch):
    for value in ["0", "-1", "nan", "inf", "soon", "1e30"]:
        monkeypatch.setenv("TF_ADAPT_DOWNLOAD_TIMEOUT", value)
        with pytest.raises(
            ConfigError, match="TF_ADAPT_DOWNLOAD_TIMEOUT: expected a number of sec"
        ):
            find_module("http://127.0.0.1:9/bert/1")


def test_a4_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(ArtifactError, match="cannot be written.*TFHUB_CACHE_DIR"):
        find_module("http://127.0.0.1:9/bert/1")


def test_a4_a_format_that_stays_on_the_server(cache, monkeypatch):
    monkeypatch.setenv("TFHUB_MODEL_LOAD_FORMAT", "UNCOMPRESSED")
    with pytest.raises(ArtifactError, match="TFHUB_MODEL_LOAD_FORMAT COMPRESSED or AUTO"):
        find_module("http://127.0.0.1:9/bert/1")


def test_a1_only_the_cache_may_be_removed(cache, tmp_path):
    with served(packed()) as (url, _):
        folder = find_module(url)
        (folder / "saved_model.pb").unlink()
        with pytest.raises(ArtifactError, match=f"remove the folder {folder}, and"):
            find_module(url)
    for handle in ("/", str(tmp_path), str(folder)):
        with pytest.raises(ArtifactError, match="saved_model.pb") as refusal:
            find_module(handle)
        assert "remove" not in str(refusal.value)
