"""Files of the machine of a comparison on nodes that do not see them."""

from hashlib import sha256
from types import SimpleNamespace

import pytest

from tf_adapt.comparison.execution import shipped_files
from tf_adapt.comparison.execution.shipped_files import missing, place, read_files
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError, DataError


def test_the_files_of_a_run_are_its_data_and_modules(tmp_path):
    out = tmp_path / "out"
    paths = [tmp_path / "module" / "encoder" / "weights", tmp_path / "train.tsv", out / "texts"]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    data = {"format": "tsv", "kind": "classification", "train": str(paths[1])}
    content = {
        "data": data | {"columns": {"text": "text", "label": "label"}},
        "encoder": {"handle": str(tmp_path / "module")},
        "adaptation": "feature_extraction",
        "forgetting": {"text": str(paths[2])},
    }
    cached = {"features": {"cache": str(tmp_path)}, "encoder": {"handle": "bert_small"}}
    own = config_from(content | cached, "test")
    files = {str(path): sha256(path.name.encode()).hexdigest() for path in paths[:2]}
    assert read_files([config_from(content, "test"), own], out) == files
    assert missing(files) == []
    paths[1].write_text("changed")
    changed = sha256(b"changed").hexdigest()
    assert read_files([config_from(content, "test")], out) == files | {str(paths[1]): changed}


def test_a_file_that_is_removed_meanwhile_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped_files, "_files", lambda place: [tmp_path / "renamed"])
    config = SimpleNamespace(encoder=SimpleNamespace(HANDLES=["handle"], handle="module"))
    monkeypatch.setattr(shipped_files, "named_paths", lambda config: [])
    with pytest.raises(DataError, match="renamed: expected a file that nodes.*got No such file"):
        read_files([config], tmp_path / "out")


def test_a_node_without_a_file_gets_it_and_again_where_it_has_changed(tmp_path):
    path, store = tmp_path / "data" / "train.csv", tmp_path / "store"
    for content in (b"first", b"second"):
        files = {str(path): sha256(content).hexdigest()}
        assert missing(files, store) == [str(path)]
        place({str(path): content}, files, store)
        assert missing(files, store) == [] and path.read_bytes() == content
    with pytest.raises(DataError, match="stays as it is during a comparison"):
        place({str(path): b"third"}, files, store)


def test_another_file_of_the_node_itself_is_refused(tmp_path):
    path = tmp_path / "train.csv"
    path.write_bytes(b"first")
    files = {str(path): sha256(b"first").hexdigest()}
    assert missing(files, tmp_path / "store") == []
    path.write_bytes(b"of the node itself")
    with pytest.raises(ConfigError, match=rf"{path}: expected the file of the machine.*on node "):
        missing(files, tmp_path / "store")
    path.unlink()
    assert missing(files, tmp_path / "store") == [str(path)]


def test_a_path_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").touch()
    path = str(tmp_path / "file" / "train.csv")
    with pytest.raises(ConfigError, match="expected a file on each node.*got none"):
        place({path: b""}, {path: sha256(b"").hexdigest()}, tmp_path / "store")
