"""Files of the machine of a comparison on nodes that do not see them."""

from hashlib import sha256

import pytest

from tf_adapt.comparison.execution.shipped_files import missing, place, read_files
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError


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
    own = config_from(content | {"encoder": {"handle": "bert_small"}}, "test")
    files = {str(path): sha256(path.name.encode()).hexdigest() for path in paths[:2]}
    assert read_files([config_from(content, "test"), own], out) == files
    assert missing(files) == []


def test_a_node_without_a_file_gets_it_and_again_where_it_has_changed(tmp_path):
    path, store = tmp_path / "data" / "train.csv", tmp_path / "store"
    for content in (b"first", b"second"):
        files = {str(path): sha256(content).hexdigest()}
        assert missing(files, store) == [str(path)]
        place({str(path): content}, files, store)
        assert missing(files, store) == [] and path.read_bytes() == content
    path.unlink()
    path.write_text("of the node itself")
    assert missing(files, store) == []


def test_a_path_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").touch()
    path = str(tmp_path / "file" / "train.csv")
    with pytest.raises(ConfigError, match="expected a file on each node.*got none"):
        place({path: b""}, {path: "0"}, tmp_path / "store")
