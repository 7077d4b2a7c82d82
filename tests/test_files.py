"""Files are whole or absent, and what cannot be written is said."""

import pytest

from tf_adapt.errors import ArtifactError
from tf_adapt.files import describe, difference, publish_folder, write_text


def test_a_file_where_a_folder_is_needed(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match="cannot be written"):
        write_text(tmp_path / "file" / "inside", "text")
    with pytest.raises(ArtifactError), publish_folder(tmp_path / "file" / "inside"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_old_content_stays_where_the_new_cannot_be_put(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_text(path, "old")

    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tf_adapt.files.rename", fail)
    with pytest.raises(ArtifactError, match="No space left"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_every_change_of_a_file_differs_from_its_description(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    described = describe(path)
    # The example of FIPS 180.
    sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert described == {"bytes": 3, "sha256": sha256}
    assert difference(path, described) is None
    path.write_bytes(b"abd")
    assert difference(path, described) == "sha256"
    path.write_bytes(b"ab")
    assert difference(path, described) == "bytes"
