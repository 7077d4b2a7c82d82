"""Files are whole or absent, and what cannot be written is said."""

import pytest

from tf_adapt.errors import ArtifactError
from tf_adapt.files import publish_folder, write_text


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
