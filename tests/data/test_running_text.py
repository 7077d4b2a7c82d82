"""Running text: paragraphs of plain and gzip files, and what is refused."""

import gzip
import hashlib

import pytest

from tf_adapt.data.running_text import read_running_text
from tf_adapt.errors import DataError


def test_paragraphs_of_several_files(tmp_path):
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_text("One two.\n \n\nThree four five.", "utf-8")
    packed.write_bytes(gzip.compress("Sechs\u2028sieben.\n".encode()))
    text = read_running_text([plain, packed])
    assert text.paragraphs == ["One two.", "Three four five.", "Sechs\u2028sieben."]
    assert text.words == 7
    hashes = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in (plain, packed)}
    assert text.hashes == hashes


def test_what_is_no_text_is_refused(tmp_path):
    empty, cut = tmp_path / "empty.txt", tmp_path / "cut.gz"
    empty.write_text(" \n\n", "utf-8")
    cut.write_bytes(gzip.compress(b"text " * 1000)[:-20])
    other, latin = tmp_path / "other.gz", tmp_path / "latin.txt.gz"
    other.write_bytes(b"not packed")
    latin.write_bytes(gzip.compress("ä\n".encode("latin-1")))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "empty.txt").write_text("text", "utf-8")
    refused = {
        empty: "empty.txt: no examples in this file",
        cut: "cut.gz: cannot be read .*gzip",
        other: "other.gz: cannot be read .*gzip",
        latin: "latin.txt.gz:1: expected UTF-8",
        tmp_path / "none.gz": "none.gz: expected a file, got nothing of that name",
    }
    for path, message in refused.items():
        with pytest.raises(DataError, match=message):
            read_running_text([path])
    with pytest.raises(DataError, match="got two called empty.txt"):
        read_running_text([tmp_path / "more" / "empty.txt", empty])
