"""Rows whose labels are to be predicted: plain lines, empty rows, all columns."""

import logging

import pytest

from tf_adapt.config.data_sections import Columns, FilesConfig
from tf_adapt.data.datasets import in_format, rows_to_predict
from tf_adapt.data.formats.text import KnownLines
from tf_adapt.data.stored.sequences import OnDisk
from tf_adapt.errors import DataError
from tf_adapt.serving.prediction.rows import predictions_of_rows


def section(kind="classification", form="csv", **columns):
    names = {"text_a": "review", "label": "stars"} | columns
    return FilesConfig(format=form, kind=kind, train="", columns=Columns(**names))


def read(content: str, data, name: str = "in.txt"):
    return rows_to_predict(KnownLines(content.split("\n")[:-1], name), data)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_plain_lines_are_texts(form, caplog):
    found = read("A fine film, really.\n\nDull\n", section(form=form))
    assert [row.text_a for row in found] == ["A fine film, really.", "", "Dull"]
    assert [row.is_empty for row in found] == [False, True, False]
    assert "in.txt: no header with 'review': each line is read as a text" in caplog.text
    pair = section("pair_classification", "tsv", text_b="reply")
    assert read("a\tb\n", pair)[0].texts == ("a", "b")
    for content, name in (("Dull\n", "in.csv"), ("a\tb\n", "in.txt")):
        with pytest.raises(DataError, match="expected one column 'review'"):
            read(content, section(form="tsv"), name)


def test_rows_keep_all_their_columns():
    found = read("id,review,more\n7,good,x\n8, ,y\n\n", section(), "in.csv")
    assert [row.is_empty for row in found] == [False, True, True]
    assert found[0].fields == {"id": "7", "review": "good", "more": "x"}
    found = read('{"id": 1, "review": null}\n{"review": "a"}\n', section(), "<stdin>")
    assert [row.text_a for row in found] == ["", "a"]
    assert found[0].fields == {"id": 1, "review": None}


@pytest.mark.parametrize("form", ["conll", "jsonl"])
def test_sentences_of_plain_text(form):
    columns = {} if form == "conll" else {"text_a": "text", "tags": "spans"}
    data = FilesConfig(format=form, kind="tagging", train="", columns=Columns(**columns))
    found = read("Ann left Oslo, by train.\n\nBob ran\n", data)
    assert [row.words for row in found] == [
        ("Ann", "left", "Oslo", ",", "by", "train", "."),
        (),
        ("Bob", "ran"),
    ]
    for columns in ("Ann\nran\n\nBob\n", "Ann O\nran O\n", "Ann\tNN\nran\tV\n"):
        assert read(columns, data)[0].words == ("Ann", "ran")
    content = '{"tokens": ["Ann", "ran"]}\n'
    assert read(content, in_format(data, "jsonl"), "in.jsonl")[0].words == ("Ann", "ran")


def test_an_empty_row_has_an_empty_answer(caplog):
    caplog.set_level(logging.WARNING)
    rows = read("review\ngood\n\nbad\n", section(form="tsv"))
    answers = list(predictions_of_rows(rows, lambda filled: [row.text_a.upper() for row in filled]))
    assert answers == ["GOOD", None, "BAD"]
    assert "1 example without a text (in.txt:3): the answers are empty" in caplog.text
    assert list(predictions_of_rows(rows[1:2], lambda filled: 1 / 0)) == [None]


@pytest.mark.parametrize(
    ("content", "data", "name"),
    [
        ("A film\n\nDull\n" * 200, section(), "in.txt"),
        ("id,review\n" + "7,good\n8, \n" * 300, section(), "in.csv"),
        ('{"id": 1, "review": null}\n{"review": "a"}\n' * 300, section(), "<stdin>"),
    ],
)
def test_many_rows_are_on_disk(content, data, name, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    in_memory = read(content, data, name)
    monkeypatch.setattr("tf_adapt.data.datasets.ROWS_MB", 0)
    on_disk = read(content, data, name)
    assert isinstance(in_memory, list)
    assert isinstance(on_disk, OnDisk)
    assert on_disk == in_memory
    assert [row.fields for row in on_disk] == [row.fields for row in in_memory]


def test_rows_are_predicted_some_at_a_time(monkeypatch):
    rows, asked = read("ab\n\nc\nd\ne\n", section(form="jsonl")), []

    def lengths(some):
        asked.append(len(some))
        return [len(row.text_a) for row in some]

    monkeypatch.setattr("tf_adapt.serving.prediction.rows._AT_ONCE", 2)
    assert list(predictions_of_rows(rows, lengths)) == [2, None, 1, 1, 1]
    assert list(predictions_of_rows(rows, lengths, together=True)) == [2, None, 1, 1, 1]
    assert asked == [1, 2, 1, 4]
