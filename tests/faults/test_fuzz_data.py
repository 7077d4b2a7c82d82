"""Mutated data files: each reader gives examples or a `DataError`, whatever stands in the file."""

import json
import random
from pathlib import Path

import pytest

from tf_adapt.data import formats
from tf_adapt.data.guesses import guess
from tf_adapt.errors import DataError

COLUMNS = {"text_a": "text", "label": "label"}
SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
# A reader and a line that it takes, with what stands above the lines.
SQUAD = {
    "context": "Rain fell on Ghent in May.",
    "qas": [
        {
            "id": f"q{number}",
            "question": "When did it rain?",
            "answers": [{"text": "May", "answer_start": 22}],
        }
        for number in range(6)
    ],
}
READERS = {
    "train.json": (
        formats.read_squad,
        json.dumps({"version": "1.1", "data": [{"title": "Rain", "paragraphs": [SQUAD]}]}),
        "",
    ),
    "conll.txt": (formats.read_conll, "", "Ann B-PER\nsings O\n\n"),
    "conll2003.txt": (
        formats.read_conll2003,
        "-DOCSTART- -X- O O\n\n",
        "Ann NNP I-NP I-PER\nsings VBZ I-VP O\n\n",
    ),
    "table.tsv": (lambda path: formats.read_tsv(path, COLUMNS), "text\tlabel\n", "rain\tx\n"),
    "table.csv": (
        lambda path: formats.read_csv(path, COLUMNS),
        "text,label\n",
        '"rain, ""snow""\nand",x\n',
    ),
    "table.jsonl": (
        lambda path: formats.read_jsonl(path, COLUMNS),
        "",
        json.dumps({"text": "räin", "label": "x"}) + "\n",
    ),
    "sst2.tsv": (formats.read_sst2, "sentence\tlabel\n", "a fine film\t1\n"),
    "cola.tsv": (formats.read_cola, "", "gj04\t0\t*\tThey sings.\n"),
    "mrpc.tsv": (
        formats.read_mrpc,
        "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n",
        '1\t1\t2\tIt "rains.\tIt rains.\n',
    ),
    "stsb.csv": (
        formats.read_stsb,
        "",
        "main-captions\tMSRvid\t2012test\t0005\t3.800\tA man.\tA dog.\n",
    ),
    "mnli.tsv": (
        formats.read_mnli,
        "genre\tgold_label\tsentence1\tsentence2\n",
        "fiction\tneutral\tOne.\tTwo.\n",
    ),
    "sick_e.txt": (formats.read_sick_entailment, SICK, "2\tA man.\tA dog.\t3.2\tNEUTRAL\n"),
    "sick_r.txt": (formats.read_sick_relatedness, SICK, "2\tA man.\tA dog.\t3.2\tNEUTRAL\n"),
    "trec.label": (formats.read_trec, "", "DESC:manner How can I find a list ?\n"),
    "guessed.csv": (guess, "text,label\n", "a few words here,x\nor some others,y\n"),
    "guessed.jsonl": (
        guess,
        "",
        '{"text": "a few words here", "label": 1}\n{"text": "or some others", "label": 2}\n',
    ),
}
ODD = [
    *(b"\t", b"\n", b"\r", b"\0", b"\xff", b'"', b",", b" ", b"{", b"[", b"\\", b"\xef\xbb\xbf"),
    *(b"\xe2\x80\xa8", b"\xc2\x85", b"nan", b"1e999", b"-1", b"\\ud800", b"O", b"I-", b"-", b"B-"),
]


def mutated(content: bytes, chosen: random.Random) -> bytes:
    spoilt = bytearray(content)
    for _ in range(chosen.randint(1, 4)):
        place = chosen.randrange(len(spoilt) + 1)
        end = place + chosen.choice((0, 0, 1, 3, 20))
        spoilt[place:end] = chosen.choice([*ODD, b"", bytes([chosen.randrange(256)])])
    return bytes(spoilt)


def content_of(name: str) -> bytes:
    _, above, line = READERS[name]
    return (above + 12 * line).encode()


@pytest.mark.parametrize(
    "count",
    [pytest.param(400, marks=pytest.mark.slow), pytest.param(2000, marks=pytest.mark.large)],
)
def test_mutated_files(tmp_path, count):
    for name, (read, _, _) in READERS.items():
        path, good, refused = tmp_path / name, content_of(name), 0
        path.write_bytes(good)
        assert read(path)
        for seed in range(count):
            path.write_bytes(mutated(good, random.Random(seed)))
            try:
                assert read(path)
            except DataError as error:
                assert str(path) in str(error)
                refused += 1
            except Exception as error:
                raise AssertionError(f"{name}, seed {seed}: {error!r}") from error
        assert 0 < refused < count


def test_every_reader_is_here():
    readers = {getattr(formats, name) for name in formats.__all__ if name.startswith("read_")}
    source = Path(__file__).read_text("utf-8")
    assert {one.__name__ for one in readers if f"formats.{one.__name__}" not in source} == set()
