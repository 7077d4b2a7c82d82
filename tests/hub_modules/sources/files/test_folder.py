import pytest

from hub_modules.sources.files.folder import (
    lower_casing,
    read_json,
    read_vocabulary,
    setting,
    write_vocabulary,
)
from tf_adapt.errors import ArtifactError

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2028", "\u00a0", "a"]


def test_read_json_refuses(tmp_path):
    for content, message in [
        (b"[1]", "expected a JSON object, got list"),
        (b"{", "expected JSON"),
        (b'{"a": 1, "a": 2}', "a key that is written twice"),
        (b'{"a": \xe9}', "expected UTF-8, got byte 0xe9 at offset 6"),
        (b"[" * 100_000, "expected JSON"),
        (b" " * (16 * 2**20 + 1), "expected at most 16777216 bytes"),
    ]:
        path = tmp_path / "config.json"
        path.write_bytes(content)
        with pytest.raises(ArtifactError, match=message):
            read_json(path)


def test_read_json_missing(tmp_path):
    with pytest.raises(ArtifactError, match="expected a text file, got no such file"):
        read_json(tmp_path / "config.json")


def test_setting_refuses_what_is_not_of_its_kind(tmp_path):
    for value in [True, 0, -1, 2.5, "3", None, float("nan")]:
        with pytest.raises(ArtifactError, match="lstm.dim: expected a positive integer, got"):
            setting({"lstm": {"dim": value}}, "lstm.dim", "a positive integer", tmp_path)


def test_setting_missing_and_default(tmp_path):
    with pytest.raises(ArtifactError, match="lstm.dim: expected a positive integer, got nothing"):
        setting({"lstm": 3}, "lstm.dim", "a positive integer", tmp_path)
    assert setting({}, "lstm.dim", "a positive integer", tmp_path, default=4) == 4


def test_vocabulary_there_and_back(tmp_path):
    path = tmp_path / "vocab.txt"
    write_vocabulary(path, PIECES)
    assert read_vocabulary(path, rows=8) == PIECES


def test_vocabulary_with_carriage_returns_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(PIECES).encode())
    assert read_vocabulary(path, rows=9) == PIECES


def test_no_vocabulary_to_write(tmp_path):
    with pytest.raises(ArtifactError, match="vocab.txt: expected a vocabulary, got none"):
        write_vocabulary(tmp_path / "vocab.txt", None)


def test_vocabulary_refused(tmp_path):
    for pieces, message in [
        ([*PIECES, "a"], "vocab.txt:9: the piece 'a' is already on line 8"),
        ([*PIECES, "", "b"], "vocab.txt:9: expected a word piece, got an empty line"),
        (PIECES[1:], r"got none of \[PAD\]"),
        ([*PIECES, "b"], "expected at most 8 pieces .*, got 9"),
    ]:
        path = tmp_path / "vocab.txt"
        write_vocabulary(path, pieces)
        with pytest.raises(ArtifactError, match=message):
            read_vocabulary(path, rows=8)


def test_lower_casing_is_never_guessed(tmp_path):
    assert lower_casing(None, False, tmp_path) is False
    assert lower_casing(True, None, tmp_path) is True
    with pytest.raises(ArtifactError, match="--lower-case or --cased"):
        lower_casing(None, None, tmp_path)
    with pytest.raises(ArtifactError, match="records lower-casing = True, but False"):
        lower_casing(True, False, tmp_path)
