import csv
import gzip
import io
import json
import re

import pytest

from tf_adapt.data.formats import (
    Record,
    named_label,
    number_label,
    read_csv,
    read_jsonl,
    read_tsv,
    text_label,
)
from tf_adapt.errors import DataError

ODD = ["a\u2028b", "a\u0085b", "a\x0bb", "a\x1cb", "a\u00a0b", "\u3000", "\u200b", '"', "a,b", "é"]
ONE = {"text_a": "text", "label": "label"}
PAIR = {"text_a": "first", "text_b": "second", "label": "score"}


def _write(folder, text: str):
    path = folder / "file"
    path.write_bytes(text.encode())
    return path


def test_tsv_reads_quotes_as_characters(tmp_path):
    path = _write(tmp_path, 'id\ttext\tlabel\n1\t"a\tx\n2\tb"\ty\n3\t""c""\tx\n')
    assert read_tsv(path, ONE) == [
        Record('"a', label="x", where=f"{path}:2"),
        Record('b"', label="y", where=f"{path}:3"),
        Record('""c""', label="x", where=f"{path}:4"),
    ]


def test_pairs_scores_and_genres(tmp_path):
    path = _write(tmp_path, "score\tsecond\tfirst\tkind\n-1.5e0\tb\ta\tnews\n")
    columns = PAIR | {"genre": "kind"}
    assert read_tsv(path, columns, number_label) == [Record("a", "b", -1.5, f"{path}:2", "news")]


GROUPED = ONE | {"group": "source"}


def _table_of(read, rows: list[list[str]]) -> str:
    """The same rows, the first of which is the header, in the format that `read` reads."""
    if read is read_jsonl:
        return "".join(json.dumps(dict(zip(rows[0], row, strict=True))) + "\n" for row in rows[1:])
    separator = "\t" if read is read_tsv else ","
    return "".join(separator.join(row) + "\n" for row in rows)


@pytest.mark.parametrize("read", [read_tsv, read_csv, read_jsonl])
def test_groups(tmp_path, read):
    rows = [["source", "text", "label"], ["mail 7", "a", "x"], [" é", "b", "y"]]
    path = _write(tmp_path, _table_of(read, rows))
    found = read(path, GROUPED)
    assert [(one.text_a, one.label, one.group) for one in found] == [
        ("a", "x", "mail 7"),
        ("b", "y", " é"),
    ]
    assert [one.group for one in read(path, ONE)] == [None, None]


@pytest.mark.parametrize("read", [read_tsv, read_csv, read_jsonl])
def test_files_without_labels_need_no_groups(tmp_path, read):
    for rows in (
        [["text"], ["a"], ["b"]],
        [["text", "source"], ["a", ""], ["b", "mail 7"]],
        [["text", "label", "source"], ["a", "", ""], ["b", "x", "mail 7"]],
    ):
        found = read(_write(tmp_path, _table_of(read, rows)), GROUPED, labelled=False)
        expected = [("a", None, None), ("b", None, None)]
        assert [(one.text_a, one.label, one.group) for one in found] == expected


@pytest.mark.parametrize("read", [read_tsv, read_csv, read_jsonl])
def test_a_missing_or_empty_group_is_named(tmp_path, read):
    # A table's first line is its header; what it lacks is missing there.
    header, second = ["text", "label", "source"], 2 + (read is not read_jsonl)
    empty = "expected a text in column 'source', got an empty one"
    for rows, line, message in (
        ([["text", "label"], ["a", "x"]], 1, "expected .* 'source', got"),
        ([header, ["a", "x", "g"], ["b", "x", ""]], second, empty),
        ([header, ["a", "x", "g"], ["b", "x", " \x0b"]], second, empty),
    ):
        with pytest.raises(DataError, match=f"file:{line}: {message}"):
            read(_write(tmp_path, _table_of(read, rows)), GROUPED)


def test_whole_numbers_as_groups_in_json_lines(tmp_path):
    path = _write(tmp_path, '{"text": "a", "label": 1, "source": 12}\n')
    assert read_jsonl(path, GROUPED)[0].group == "12"
    for value, got in (("1.5", "float 1.5"), ("true", "bool True"), ("null", "NoneType None")):
        path = _write(tmp_path, f'{{"text": "a", "label": 1, "source": {value}}}\n')
        with pytest.raises(
            DataError,
            match=f"file:1: expected a text or a whole number in column 'source', got {got}",
        ):
            read_jsonl(path, GROUPED)


def test_csv_agrees_with_the_csv_writer(tmp_path):
    fields = [*ODD, '"quoted"', "tab\there", "a, b", "'"]
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["text", "label"])
    writer.writerows([field, "x"] for field in fields)
    records = read_csv(_write(tmp_path, buffer.getvalue()), ONE)
    assert [record.text_a for record in records] == fields


def test_json_lines_agree_with_the_json_writer(tmp_path):
    fields = [*ODD, "line\nbreak", "tab\there", "carriage\rreturn", "😀"]
    for ascii_only in (True, False):
        lines = [
            json.dumps({"text": field, "label": 1, "other": [None]}, ensure_ascii=ascii_only)
            for field in fields
        ]
        records = read_jsonl(_write(tmp_path, "\n".join(lines)), ONE)
        assert [record.text_a for record in records] == fields
        assert {record.label for record in records} == {"1"}


@pytest.mark.parametrize("read", [read_tsv, read_csv])
def test_tables_without_the_label_column_can_be_read(tmp_path, read):
    separator = "\t" if read is read_tsv else ","
    for rows in (["text", "a"], ["text,label", "a,x"], ["text,label", "a,"]):
        path = _write(tmp_path, "\n".join(rows).replace(",", separator))
        assert read(path, ONE, labelled=False) == [Record("a", where=f"{path}:2")]


def test_json_lines_without_labels_can_be_read(tmp_path):
    path = _write(tmp_path, '{"text": "a"}\n{"text": "b", "label": null}\n')
    assert [record.text_a for record in read_jsonl(path, ONE, labelled=False)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text\tlabel\na\tx\nb\n", r"file:3: expected 2 columns, got 1"),
        ("text\tlabel\na\tx\ty\n", r"file:2: expected 2 columns, got 3"),
        ("text\tlabels\na\tx\n", r"file:1: expected one column 'label', got the columns 'text'"),
        ("text\tlabel\tlabel\na\tx\tx\n", r"file:1: expected one column 'label', got two of"),
        ("text\tlabel\n\tx\n", r"file:2: expected a text in column 'text', got an empty one"),
        ("text\tlabel\n \x0b\tx\n", r"file:2: expected a text in column 'text', got an empty"),
        ("text\tlabel\na\t\n", r"file:2: expected a label in column 'label', got none"),
        ("text\tlabel\na\t0 \n", r"file:2: expected a label without white space .* got '0 '"),
        ("text\tlabel\na\t\u00a00\n", r"file:2: expected a label without white space"),
        ("text\tlabel\na\tx\n\nb\tx\n", r"file:3: expected an example, got an empty line"),
        ("", "no examples in this file"),
        ("\n\n", "no examples in this file"),
        ("text\tlabel\n", "no examples in this file"),
        ("text\tlabel\n\n\n", "no examples in this file"),
    ],
)
def test_table_errors_name_file_and_line(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_tsv(_write(tmp_path, text), ONE)
    with pytest.raises(DataError, match=message):
        read_csv(_write(tmp_path, text.replace("\t", ",")), ONE)


def test_a_forgotten_quote_never_joins_rows(tmp_path):
    for middle in ('"b', '"b""', 'b,"', '"b\nc",x\n"d'):
        text = f'text,label\na,x\n{middle},x\ne,x\n"f",x\n'
        line = 5 if "c" in middle else 3
        with pytest.raises(
            DataError, match=f"file:{line}: expected values separated by ','.*begins"
        ):
            read_csv(_write(tmp_path, text), ONE)


def test_a_quote_that_is_never_closed_is_named_where_it_begins(tmp_path):
    text = 'text,label\n"a\nb",x\n"c,x\nd,x\n'
    with pytest.raises(DataError, match="file:4: .*a quote is never closed"):
        read_csv(_write(tmp_path, text), ONE)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quoted_fields_hold_line_breaks(tmp_path, end):
    lines = ['"text",label', '"a', "", 'b, ""c""",x', "d,y", '"e', 'f",x']
    path = _write(tmp_path, end.join(lines) + end)
    assert read_csv(path, ONE) == [
        Record('a\n\nb, "c"', label="x", where=f"{path}:2"),
        Record("d", label="y", where=f"{path}:5"),
        Record("e\nf", label="x", where=f"{path}:6"),
    ]
    with pytest.raises(DataError, match="file:6: expected 2 columns, got 1"):
        read_csv(_write(tmp_path, end.join([*lines[:5], '"e', 'f"'])), ONE)


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters(tmp_path, delimiter):
    rows = [["text", "label"], [f'"a{delimiter} b, c"', "x"], ["d", "y"]]
    path = _write(tmp_path, "".join(delimiter.join(row) + "\n" for row in rows))
    found = read_csv(path, ONE, delimiter=delimiter)
    assert [one.text_a for one in found] == [f"a{delimiter} b, c", "d"]
    # What the file looks like is said where its header is one column.
    with pytest.raises(
        DataError, match=re.escape(f"it looks separated by {delimiter!r}: set data")
    ):
        read_csv(path, ONE)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "file:2: expected one JSON object"),
        ("[1]", "file:2: expected one JSON object, got list"),
        ('{"text": "b"} {}', "file:2: expected one JSON object"),
        (
            '{"text": "b", "text": "c", "label": "x"}',
            "file:2: .*a key that is written twice: .text",
        ),
        (
            '{"text": "b", "label": "x", "other": NaN}',
            "file:2: .*the number NaN, which is not JSON",
        ),
        (
            '{"text": "b", "label": "x", "other": -Infinity}',
            "file:2: .*-Infinity, which is not JSON",
        ),
        ('{"text": "b"}', "file:2: expected a field 'label', got 'text'"),
        ('{"text": 1, "label": "x"}', "file:2: expected a text in column 'text', got int 1"),
        ('{"text": "b", "label": " x"}', "file:2: expected a label without white space"),
        ('{"text": "b", "label": true}', "file:2: expected a text as label, got bool True"),
        ('{"text": "b", "label": 1.5}', "file:2: expected a text as label, got float 1.5"),
        ('{"text": "b\\u0000", "label": "x"}', "file:2: .*got a NUL character"),
        ('{"text": "b\\ud800", "label": "x"}', "file:2: .*'text', got half of a surrogate pair"),
        ('{"text": "", "label": "x"}', "file:2: expected a text in column 'text', got an empty"),
        ("[" * 100_000, "file:2: expected one JSON object"),
        ('{"text": "b", "label": ' + "9" * 5000 + "}", "file:2: expected one JSON object"),
    ],
)
def test_json_lines_are_read_strictly(tmp_path, line, message):
    path = _write(tmp_path, f'{{"text": "a", "label": "x"}}\n{line}\n')
    with pytest.raises(DataError, match=message):
        read_jsonl(path, ONE)


def test_numbers():
    numbers = {"1": 1.0, "+1.": 1.0, "-.5": -0.5, "2e3": 2000.0, "3.4e38": 3.4e38, 4: 4.0}
    for value, expected in numbers.items():
        assert number_label(value, "f:1") == expected
    texts = ["nan", "inf", "-Infinity", "1e39", "1e999", "1_000", " 1", "1,5", "٣", "0x1", "", "."]
    for value in (*texts, float("nan"), float("-inf"), 1e39, 10**400, True, None):
        with pytest.raises(DataError, match="^f:1: expected .*number.* as label, got"):
            number_label(value, "f:1")


def test_labels_by_name():
    parse = named_label({"0": "no", "1": "yes"})
    assert parse("1", "f:1") == "yes"
    with pytest.raises(DataError, match="f:1: expected as label one of '0', '1', got '2'"):
        parse("2", "f:1")
    assert text_label("x", "f:1") == "x"
    with pytest.raises(DataError, match="f:1: expected a text as label, got NoneType None"):
        text_label(None, "f:1")


def test_a_field_of_a_million_characters(tmp_path):
    text = "word " * 200_000
    (record,) = read_csv(_write(tmp_path, f'text\n"{text}"\n'), {"text_a": "text"})
    assert record.text_a == text


def test_all_wrong_rows_are_told_together_by_the_users_names(tmp_path):
    columns = {"text_a": "review", "label": "stars"}
    path = _write(tmp_path, "stars,review\n1,a\n,b\nx,\n2,\n3,c,d\n")
    with pytest.raises(DataError) as failed:
        read_csv(path, columns, number_label)
    assert str(failed.value) == (
        f"{path}: 4 rows are wrong: line 3: expected a label in column 'stars', got none; fill it "
        "in, remove the example, or set data.skip_unlabelled: true | lines 4, 5: expected a text "
        "in column 'review', got an empty one; fill it in or remove the example | line 6: "
        "expected 2 columns, got 3"
    )


@pytest.mark.parametrize("read", [read_tsv, read_csv, read_jsonl])
def test_examples_may_lack_a_label(tmp_path, read):
    path = _write(tmp_path, _table_of(read, [["text", "label"], ["a", "x"], ["b", ""]]))
    assert [record.label for record in read(path, ONE, may_lack_label=True)] == ["x", None]


def test_a_json_array_and_a_packed_table(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[\n {"text": "a", "label": 1},\n {"text": "b"}\n]\n')
    with pytest.raises(DataError, match="a.json: item 2: expected a field 'label'"):
        read_jsonl(path, ONE)
    first, second = read_jsonl(path, ONE, may_lack_label=True)
    assert (first.label, second.label, second.where) == ("1", None, f"{path}: item 2")
    path.write_text('[{"text": "a"')
    with pytest.raises(DataError, match="is the file whole"):
        read_jsonl(path, ONE)
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(b"text,label\na,x\n"))
    assert read_csv(packed, ONE)[0].label == "x"
    packed.write_bytes(packed.read_bytes()[:20])
    with pytest.raises(DataError, match="a damaged gzip file"):
        read_csv(packed, ONE)
