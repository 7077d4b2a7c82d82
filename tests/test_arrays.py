"""Named arrays come back bit by bit, and damage of any kind is one of two kinds of error."""

import numpy as np
import pytest

from tf_adapt.arrays import packed, read_arrays


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
    with pytest.raises(ValueError, match="allow_pickle"):
        read_arrays(path)
    np.save(tmp_path / "array.npy", np.arange(3))
    with pytest.raises(ValueError, match="context manager"):
        read_arrays(tmp_path / "array.npy")
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "absent.npz")
