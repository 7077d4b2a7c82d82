import gzip

import pytest

from tf_adapt.data.formats.text import read_lines
from tf_adapt.errors import DataError

ODD = "\u2028", "\u0085", "\x0b", "\x0c", "\x1c", "\u00a0", "\u3000", "\u200b", "\ufeff"


def _write(folder, content: bytes):
    path = folder / "file.txt"
    path.write_bytes(content)
    return path


def test_lines_break_at_line_feeds_only(tmp_path):
    line = "a" + "b".join(ODD) + "c"
    assert read_lines(_write(tmp_path, f"{line}\n{line}\n".encode())) == [line, line]


@pytest.mark.parametrize(
    "content",
    [
        b"one\ntwo\n\nthree\n",
        b"one\ntwo\n\nthree",
        b"one\r\ntwo\r\n\r\nthree\r\n",
        b"\xef\xbb\xbfone\ntwo\n\nthree\n",
        b"\xef\xbb\xbfone\r\ntwo\r\n\r\nthree",
    ],
    ids=["plain", "no end", "crlf", "bom", "bom, crlf, no end"],
)
def test_byte_order_mark_and_line_ends_change_nothing(tmp_path, content):
    assert read_lines(_write(tmp_path, content)) == ["one", "two", "", "three"]


def test_empty_file_has_no_lines(tmp_path):
    assert read_lines(_write(tmp_path, b"")) == []
    assert read_lines(_write(tmp_path, b"\xef\xbb\xbf")) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\ntw\xe9\n", r"file\.txt:2: expected UTF-8, got byte 0xE9 at byte offset 6"),
        (b"\xef\xbb\xbfone\ntw\xe9\n", r"file\.txt:2: .*0xE9 at byte offset 9"),
        (b"one\n\xed\xa0\x80\n", r"file\.txt:2: .*0xED at byte offset 4"),
        (b"one\ntwo\nth\0ree\n", r"file\.txt:3: expected text, got a NUL byte at byte offset 10"),
        ("one\n".encode("utf-16"), "looks like UTF-16"),
        ("one\n".encode("utf-16-be"), "looks like UTF-16 text or a binary"),
        (b"\xfe\xff" + "one\n".encode("utf-16-be"), "looks like UTF-16"),
        ("one\n".encode("utf-32"), "looks like UTF-16"),
        (gzip.compress(b"one\n", mtime=0), "looks like a gzip file"),
        (b"PK\x03\x04rest", "looks like a zip file"),
        (b"\xfd7zXZ\x00rest", "looks like an xz file"),
        (b"one\rtwo\r", "carriage returns alone"),
    ],
)
def test_what_is_not_utf8_text_is_refused_by_name(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read_lines(_write(tmp_path, content))


def test_no_file_no_text(tmp_path):
    with pytest.raises(DataError, match="absent.txt: expected a file, got nothing of that name"):
        read_lines(tmp_path / "absent.txt")
    with pytest.raises(DataError, match="expected a file, got a folder"):
        read_lines(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        read_lines("nul\0byte")
    with pytest.raises(DataError, match="cannot be read"):
        read_lines(_write(tmp_path, b"one\n") / "below.txt")
