"""The manifest finds every change to every file of a module."""

import json

import pytest

from hub_modules.manifest import MANIFEST, SEAL, module_hash, read_manifest, verify, write_manifest
from tf_adapt.errors import ArtifactError


@pytest.fixture
def folder(tmp_path):
    files = {
        "encoder/saved_model.pb": b"graph",
        "encoder/variables/variables.index": b"index",
        "preprocess/saved_model.pb": b"graph too",
        "vocab.txt": b"[PAD]\n",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    write_manifest(tmp_path, {"kind": "export"})
    return tmp_path


def check(folder):
    verify(folder, read_manifest(folder))


def test_an_intact_module_passes_and_its_notes_may_change(folder):
    (folder / "README.md").write_text("notes")
    check(folder)
    assert read_manifest(folder).kind == "export"


def test_no_manifest_is_none(tmp_path):
    assert read_manifest(tmp_path) is None


def test_every_change_is_found(folder):
    for name in ("encoder/saved_model.pb", "vocab.txt", MANIFEST, SEAL):
        path = folder / name
        content = path.read_bytes()
        for damaged in (bytes([content[0] ^ 1]) + content[1:], content[:-1], None):
            path.unlink()
            if damaged is not None:
                path.write_bytes(damaged)
            if name == SEAL and damaged == content[:-1]:
                check(folder)  # only the line end is gone
            else:
                with pytest.raises(ArtifactError, match=path.name):
                    check(folder)
            path.write_bytes(content)


def test_an_added_file_is_found(folder):
    (folder / "encoder" / "assets.txt").write_text("x")
    with pytest.raises(ArtifactError, match="assets.txt.*not in the manifest"):
        check(folder)


def test_a_newer_format_names_both(folder):
    manifest = read_manifest(folder).model_dump()
    (folder / MANIFEST).unlink()
    (folder / SEAL).unlink()
    write_manifest(folder, {**manifest, "format": 99})
    with pytest.raises(ArtifactError, match="expected format 1, got 99"):
        read_manifest(folder)


def test_the_hash_follows_the_content(folder):
    before = module_hash(folder)
    assert before == module_hash(folder)
    (folder / "vocab.txt").write_bytes(b"[UNK]\n")
    write_manifest(folder, {"kind": "export"})
    assert module_hash(folder) != before
    assert json.loads((folder / MANIFEST).read_text())["files"]["vocab.txt"]["bytes"] == 6
