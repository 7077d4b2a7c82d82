"""Fault cases D1 to D8 and D14: what reading refuses, and what it must leave alone.

(D10, D12, D13: data/test_labels.py, data/test_splits.py, data/test_prepare.py.)
"""

import contextlib
import gzip
import os

import pytest

from tf_adapt.data import formats
from tf_adapt.data.datasets import load_dataset
from tf_adapt.errors import DataError

CONLL = "".join(f"word{i} O\n" + ("\n" if i % 5 == 4 else "") for i in range(25))
COLUMNS = {"text_a": "text", "label": "label"}
TABLE = "text\tlabel\n" + "".join(f"text {i}\t{'xy'[i % 2]}\n" for i in range(10))
ODD_TOKENS = ["a\u2028b", "a\u0085b", "a\x0bb", "a\x1cb", "a\u00a0b", "\u3000", "\u200b"]


def _write(folder, content: str | bytes, name: str = "data.txt"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@contextlib.contextmanager
def _refused(*patterns: str):
    with pytest.raises(DataError) as error:
        yield
    assert error.value.exit_code == 3
    for pattern in patterns:
        assert pattern in str(error.value)


def _read_table(path):
    return formats.read_tsv(path, COLUMNS)


def test_d1_a_column_too_few_or_too_many(tmp_path):
    for line, got in [("word", 1), ("word O O", 3)]:
        lines = CONLL.split("\n")
        assert lines[16]
        lines[16] = line
        path = _write(tmp_path, "\n".join(lines))
        with _refused(f"data.txt:17: expected 2 columns, got {got}"):
            formats.read_conll(path)


def test_d2_an_unpaired_quote_is_a_character(tmp_path):
    lines = TABLE.split("\n")
    lines[3] = '"text\ty'
    records = _read_table(_write(tmp_path, "\n".join(lines)))
    assert len(records) == 10
    assert records[2].text_a == '"text'


def test_d3_one_line_stays_one_line_and_one_token_one_token(tmp_path):
    path = _write(tmp_path, "".join(f"{token} O\n" for token in ODD_TOKENS))
    (sentence,) = formats.read_conll(path)
    assert list(sentence.words) == ODD_TOKENS
    path = _write(tmp_path, "\n".join(ODD_TOKENS))
    (sentence,) = formats.read_conll(path, labelled=False)
    assert list(sentence.words) == ODD_TOKENS
    texts = [" ".join(ODD_TOKENS), *ODD_TOKENS]
    path = _write(tmp_path, "".join(f"{text}\n" for text in ["text", *texts]))
    records = formats.read_tsv(path, COLUMNS, labelled=False)
    assert [record.text_a for record in records] == texts


def test_d4_other_encodings_and_formats(tmp_path):
    for content, message in [
        (
            TABLE.encode().replace(b"text 3", b"text\xe9"),
            "data.txt:5: expected UTF-8, got byte 0xE9",
        ),
        (TABLE.encode("utf-16"), "looks like UTF-16"),
        (gzip.compress(TABLE.encode(), mtime=0), "looks like a gzip file"),
    ]:
        path = _write(tmp_path, content)
        with _refused(message):
            _read_table(path)
        if b"text\xe9" in content:
            with _refused(f"at byte offset {content.index(0xE9)}"):
                _read_table(path)


def test_d4_a_folder_and_a_device(tmp_path):
    with _refused("got a folder"):
        _read_table(tmp_path)
    with _refused("got a device, which may never end"):
        _read_table("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    with _refused("got a named pipe, which may never begin"):
        _read_table(tmp_path / "pipe")


def test_d5_byte_order_mark_line_ends_and_last_line(tmp_path):
    plain = _read_table(_write(tmp_path, TABLE))
    for variant in (
        b"\xef\xbb\xbf" + TABLE.encode(),
        TABLE.replace("\n", "\r\n").encode(),
        TABLE.rstrip("\n").encode(),
        TABLE.replace("\n", "\r\n").rstrip().encode(),
    ):
        assert _read_table(_write(tmp_path, variant)) == plain
    sentences = formats.read_conll(_write(tmp_path, CONLL))
    for variant in ("\ufeff" + CONLL, CONLL.replace("\n", "\r\n"), CONLL.rstrip("\n")):
        assert formats.read_conll(_write(tmp_path, variant)) == sentences


def test_d6_a_nul_byte(tmp_path):
    path = _write(tmp_path, TABLE.replace("text 7", "te\0xt"))
    with _refused("data.txt:9", "NUL"):
        _read_table(path)


def test_d7_no_examples(tmp_path):
    for split, name in [("train", "eng.train"), ("dev", "eng.testa")]:
        for content in ["", "\n\n\n", "-DOCSTART- -X- O O\n\n"]:
            _write(tmp_path, content, name)
            with _refused(f"{name}: no examples in this file"):
                load_dataset("conll2003", split, data_dir=tmp_path)
            if "DOCSTART" not in content:
                path = _write(tmp_path, content)
                with _refused("no examples in"):
                    _read_table(path)


def test_d8_empty_sentences_and_texts(tmp_path):
    path = _write(tmp_path, CONLL.replace("\n\n", "\n\n\n", 2))
    sentences = formats.read_conll(path)
    assert [len(sentence.words) for sentence in sentences] == [5] * 5
    assert [sentence.words[0] for sentence in sentences] == [f"word{i}" for i in range(0, 25, 5)]
    path = _write(tmp_path, TABLE.replace("text 4", ""))
    with _refused("data.txt:6: expected a text", "empty"):
        _read_table(path)


def test_d14_targets_that_are_not_finite(tmp_path):
    for value in ["NaN", "nan", "inf", "-Infinity", "1e39"]:
        path = _write(tmp_path, f"text\tlabel\na\t1.5\nb\t{value}\n")
        with _refused("data.txt:3: expected a finite number"):
            formats.read_tsv(path, COLUMNS, formats.number_label)
