"""Named arrays come back bit by bit, and damage of any kind is one of two kinds of error."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from hub_modules.storage.arrays import packed, read_arrays


def test_arrays_come_back(tmp_path):
    arrays = {"a": np.array([[1.5, -0.0]], np.float16), "b/c": np.array("text"), "d": np.array(3)}
    path = tmp_path / "arrays.npz"
    path.write_bytes(packed(arrays))
    found = read_arrays(path)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes()


def test_each_changed_byte_is_one_of_two_errors_or_harmless(tmp_path):
    path = tmp_path / "arrays.npz"
    content = packed({"a": np.arange(3.0)})
    refused = 0
    for place in range(len(content)):
        for value in (0, 8, 255):
            changed = bytearray(content)
            changed[place] = value
            path.write_bytes(changed)
            try:
                read_arrays(path)
            except (OSError, ValueError):
                refused += 1
    assert refused > len(content)


def test_objects_and_absent_files_are_refused(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, a=np.array([{}], object))
    with pytest.raises(ValueError, match="objects, not numbers"):
        read_arrays(path)
    np.save(tmp_path / "array.npy", np.arange(3))
    with pytest.raises(ValueError, match="not a zip file"):
        read_arrays(tmp_path / "array.npy")
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "absent.npz")


def test_a6_a_bomb_is_refused_unread(tmp_path):
    """A6: compressed zeros, entries that overlap, a header that claims 2^50 numbers."""
    path = tmp_path / "arrays.npz"
    np.savez_compressed(path, a=np.zeros(2**26, np.float32))
    assert path.stat().st_size < 500_000
    tracemalloc.start()
    with pytest.raises(ValueError, match="compressed"):
        read_arrays(path)
    content = packed({"a": np.zeros(2**16, np.float32)})
    path.write_bytes(content.replace(b"(65536,)", b"(2**50,)"))
    with pytest.raises(ValueError):
        read_arrays(path)
    header = np.lib.format.magic(1, 0) + _header(2**50)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", header)
    with pytest.raises(ValueError, match="declares more than it holds"):
        read_arrays(path)
    path.write_bytes(_overlapping(content, 1000))
    with pytest.raises(ValueError):
        read_arrays(path)
    assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    tracemalloc.stop()


def _header(length: int) -> bytes:
    text = repr({"descr": "<f4", "fortran_order": False, "shape": (length,)}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return len(text).to_bytes(2, "little") + text


def _overlapping(content: bytes, count: int) -> bytes:
    """The same stored bytes under many names."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (entry,) = archive.infolist()
    start = content.index(b"PK\1\2")
    central, end = content[start : content.index(b"PK\5\6")], content.index(b"PK\5\6")
    entries = b"".join(central.replace(b"a.npy", b"%05d" % number) for number in range(count))
    tail = bytearray(content[end:])
    tail[8:10] = tail[10:12] = count.to_bytes(2, "little")
    tail[12:16] = len(entries).to_bytes(4, "little")
    return content[:start] + entries + bytes(tail)
