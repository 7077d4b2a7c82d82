"""What a command reads is never written over, whatever it is called."""

import io
import os
import sys

import pytest

from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.serving.prediction.output_files import check_output, write_output


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "input.tsv"
    path.write_text("text_a\na\n", "utf-8")
    return path


def other_names(source):
    folder = source.parent
    (folder / "symbolic").symlink_to(source)
    (folder / "hard").hardlink_to(source)
    (folder / "to_a_link").symlink_to("symbolic")
    relative = os.path.relpath(source)
    return [source, str(source), relative, *map(folder.joinpath, ("symbolic", "hard", "to_a_link"))]


def test_the_input_by_any_name_is_refused(source):
    for name in other_names(source):
        with pytest.raises(ConfigError, match="expected another file than the input"):
            check_output(name, source)
        with pytest.raises(ConfigError, match="expected another file than the input"):
            check_output(source, name)
    check_output(source.with_name("output.tsv"), source)


def test_standard_streams_that_are_files(source, monkeypatch):
    with open(source) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(ConfigError, match="the same as -"):
            check_output(source, "-")
    with open(source, "a") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(ConfigError, match="expected another file"):
            check_output("-", source)
    check_output("-", "-")
    check_output(os.devnull, os.devnull)


def test_the_files_of_a_run_a_module_and_a_folder(tmp_path):
    run, module = tmp_path / "run", tmp_path / "module"
    for folder in (run, module):
        folder.mkdir()
        (folder / "task.json").write_text("{}")
    (module / "manifest.json").write_text("{}")
    (tmp_path / "link").symlink_to(run / "task.json")
    for output in (run / "task.json", tmp_path / "link", module / "new.tsv"):
        with pytest.raises(ConfigError, match="expected a file of its own, got one in"):
            check_output(output, run, module)
    check_output(run / "new.tsv", run, module)
    with pytest.raises(ConfigError, match="got a folder"):
        check_output(run, "input.tsv")


def test_bytes_go_to_standard_output(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stream)
    write_output("-", ["שלום\n".encode()])
    assert stream.buffer.getvalue().decode("utf-8") == "שלום\n"
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(full))
        with pytest.raises(ArtifactError, match="<stdout>: cannot be written .No space left"):
            write_output("-", [b"x"])
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(ArtifactError, match="<stdout>: .* is closed"):
        write_output("-", [b"x"])


def test_nobody_reads_standard_output_any_more(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", buffering=0) as pipe:
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe))
        with pytest.raises(BrokenPipeError):  # which ends a command without a word
            write_output("-", [b"x"])
