"""The publishers' formats: made-up lines in the layout that `data/README.md` documents."""

from collections import Counter

import pytest

from tf_adapt.data import formats
from tf_adapt.data.formats import Record
from tf_adapt.errors import DataError


def _write(folder, text: str):
    path = folder / "file"
    path.write_bytes(text.encode())
    return path


CASES = {
    "sst2": (
        formats.read_sst2,
        "sentence\tlabel\na fine film \t1\n",
        Record("a fine film ", label="positive"),
        2,
    ),
    "sick_e": (
        formats.read_sick_entailment,
        "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
        "1\tA man runs\tA man walks\t3.2\tNEUTRAL\n",
        Record("A man runs", "A man walks", "NEUTRAL"),
        2,
    ),
    "sick_r": (
        formats.read_sick_relatedness,
        "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
        "1\tA man runs\tA man walks\t3.2\tNEUTRAL\n",
        Record("A man runs", "A man walks", 3.2),
        2,
    ),
    "mrpc": (
        formats.read_mrpc,
        'Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\tHe said "no.\tHe "left".\n',
        Record('He said "no.', 'He "left".', "not_equivalent"),
        2,
    ),
    "mnli": (
        formats.read_mnli,
        "genre\tgold_label\tsentence1\tsentence2\nfiction\tcontradiction\tIt is.\tIt is not.\n",
        Record("It is.", "It is not.", "contradiction", genre="fiction"),
        2,
    ),
    "stsb": (
        formats.read_stsb,
        "main-captions\tMSRvid\t2012test\t0005\t3.800\tOne.\tTwo.\n",
        Record("One.", "Two.", 3.8, genre="main-captions"),
        1,
    ),
    "stsb with notes": (
        formats.read_stsb,
        "main-news\theadlines\t2016\t0012\t4\tOne.\tTwo.\tnote\tnote\n",
        Record("One.", "Two.", 4.0, genre="main-news"),
        1,
    ),
    "cola": (
        formats.read_cola,
        "gj04\t0\t*\tOne more.\n",
        Record("One more.", label="unacceptable"),
        1,
    ),
    "trec": (
        formats.read_trec,
        "DESC:manner How is it ?\n",
        Record("How is it ?", label="DESC"),
        1,
    ),
}


def _key(record: Record) -> tuple:
    return record.text_a, record.text_b, record.label, record.genre


@pytest.mark.parametrize("case", CASES)
def test_each_format(tmp_path, case):
    read, text, expected, line = CASES[case]
    path = _write(tmp_path, text)
    (record,) = read(path)
    assert _key(record) == _key(expected)
    assert record.where == f"{path}:{line}"
    (record,) = read(path, labelled=False)
    assert _key(record) == (expected.text_a, expected.text_b, None, expected.genre)


def test_files_without_labels(tmp_path):
    for read, text in (
        (formats.read_sst2, "sentence\na\n"),
        (formats.read_sst2, "index\tsentence\n0\ta\n"),
        (formats.read_sick_entailment, "pair_ID\tsentence_A\tsentence_B\n1\ta\tb\n"),
        (formats.read_sick_relatedness, "sentence_A\tsentence_B\na\tb\n"),
        (formats.read_mrpc, "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\ta\tb\n"),
        (formats.read_mnli, "genre\tsentence1\tsentence2\nfiction\ta\tb\n"),
        (formats.read_stsb, "main-news\tx\t2016\t1\t\ta\tb\n"),
        (formats.read_stsb, "a\tb\n"),
        (formats.read_cola, "x\t\t\ta\n"),
        (formats.read_cola, "a\n"),
        (formats.read_trec, "a\n"),
    ):
        (record,) = read(_write(tmp_path, text), labelled=False)
        assert record.text_a == "a" and record.text_b in (None, "b")
        assert record.label is None


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (formats.read_sst2, "sentence\tlabel\na\t2\n", ":2: expected as label one of '0', '1', g"),
        (formats.read_mnli, "genre\tgold_label\tsentence1\tsentence2\nx\t-\ta\tb\n", "got '-'"),
        (formats.read_stsb, "x\tx\tx\tx\t1.0\ta\n", ":1: expected 7 to 9 columns, got 6"),
        (formats.read_stsb, "x\tx\tx\tx\tnan\ta\tb\n", ":1: expected a finite number as label"),
        (formats.read_stsb, "x\tx\tx\tx\t1.0\ta\t\n", ":1: expected a text in column 'sentence 2'"),
        (formats.read_cola, "x\t1\ta\n", ":1: expected 4 columns, got 3"),
        (formats.read_cola, "x\tyes\t\ta\n", ":1: expected as label one of '0', '1', got 'yes'"),
        (formats.read_trec, "DESC How ?\n", ":1: expected `COARSE:fine question`, got 'DESC How"),
        (formats.read_trec, "XX:x How ?\n", ":1: expected as label one of 'DESC', .*got 'XX'"),
        (formats.read_trec, "DESC:manner\n", ":1: expected a text in column 'sentence', got an e"),
        (formats.read_trec, "\n\n", "no examples in this file"),
        (formats.read_cola, "", "no examples in this file"),
    ],
)
def test_errors_name_file_and_line(tmp_path, read, text, message):
    with pytest.raises(DataError, match=message):
        read(_write(tmp_path, text))


def test_source_notes_of_stsb_stand_where_documented(shared):
    for name, rows, with_notes in (("sts-train.csv", 5749, 197), ("sts-dev.csv", 1500, 22)):
        path = shared / "data" / "stsb" / name
        assert len(formats.read_stsb(path)) == rows
        columns = Counter(line.count("\t") for line in path.read_text().split("\n"))
        assert columns[8] == with_notes


def test_genres_of_multinli(shared):
    records = formats.read_mnli(shared / "data" / "multinli" / "train_subset.tsv")
    genres = Counter(record.genre for record in records)
    assert set(genres) == {"fiction", "government", "slate", "telephone", "travel"}
    assert (min(genres.values()), max(genres.values())) == (2541, 2754)
