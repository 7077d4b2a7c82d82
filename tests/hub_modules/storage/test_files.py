"""Files are whole or absent, and what cannot be written is said."""

import fcntl
import os
import stat

import pytest

from hub_modules.storage.files import (
    changed_part,
    describe,
    publish_folder,
    remove_leftovers,
    write_text,
)
from tf_adapt.errors import ArtifactError


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

    monkeypatch.setattr("hub_modules.storage.files.rename", fail)
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
    assert changed_part(path, described) is None
    path.write_bytes(b"abd")
    assert changed_part(path, described) == "sha256"
    path.write_bytes(b"ab")
    assert changed_part(path, described) == "bytes"


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/file")
    for text in ("first", "second"):  # the file is not there at first
        write_text(tmp_path / "link", text)
        assert os.readlink(tmp_path / "link") == "folder/file"
        assert (tmp_path / "folder" / "file").read_text() == text
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder", "link"]


def test_a_device_or_pipe_is_written_to_as_it_is(tmp_path):
    write_text("/dev/null", "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(ArtifactError, match=r"/dev/full: cannot be written \(No space left"):
        write_text("/dev/full", "text")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_what_a_descriptor_is_open_on_keeps_what_it_holds(tmp_path):
    with open(tmp_path / "file", "w") as file:
        file.write("before\n")
        file.flush()
        write_text(f"/dev/fd/{file.fileno()}", "after\n")
        assert os.path.samestat(os.fstat(file.fileno()), os.stat(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "before\nafter\n"


def test_only_what_was_half_written_under_a_name_of_ours_is_removed(tmp_path):
    number = "0" * 32
    kept = [
        "thesis.partial", ".thesis.partial", ".config.yaml.partial", f".thesis.{number}.partial",
        f"config.yaml.{number}.partial", f".config.yaml.{number}.partial.txt", "config.yaml",
    ]  # fmt: skip
    for name in (*kept, f".config.yaml.{number}.partial"):
        (tmp_path / name).touch()
    (tmp_path / f".checkpoint_000002.{number}.partial").mkdir()
    (tmp_path / f".checkpoint_000002.{number}.partial" / "model.npz").touch()
    remove_leftovers(tmp_path, "config.yaml", "checkpoint_*")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    remove_leftovers(tmp_path / "absent", "*")


def test_what_a_killed_process_left_of_a_folder_is_removed(tmp_path):
    """Not what somebody writes now, nor what has another name."""
    left = {
        name: tmp_path / f".{name}.{number:032x}.partial"
        for number, name in enumerate(["1", "at_work", "new", "2"])
    }
    others = [tmp_path / ".1.partial", tmp_path / ".1.notes"]
    for path in (*left.values(), *others):
        path.mkdir()
        (path / "part").write_text("x")
        os.utime(path, (0, 0))
    os.utime(left["new"])
    descriptor = os.open(left["at_work"], os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    for name in ("1", "at_work", "new"):
        with publish_folder(tmp_path / name) as aside:
            (aside / "file").write_text("whole")
    os.close(descriptor)
    kept = {left["at_work"].name, left["new"].name, left["2"].name, *(one.name for one in others)}
    assert {path.name for path in tmp_path.iterdir()} == kept | {"1", "at_work", "new"}
