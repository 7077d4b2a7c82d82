"""Damaged files: every reader gives a valid result or a DataError, whatever the bytes."""

import random
from functools import partial

import pytest

from tf_adapt.data import formats
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.errors import DataError

INPUTS = 200  # with labels, and as many without
ONE = {"text_a": "text", "label": "label"}
TABLE = b'id\ttext\tlabel\n1\ta "b\tx\n2\tc d\ty\n'
GROUPED = ONE | {"group": "id"}
JSON = (
    b'{"text": "a text long enough to be hit more often than what is around it", "label": "x"}\n'
    b'{"text": "another one, with an escape: \\u00e9, and a quote: \\"", "label": 1}\n'
)
SICK = (
    b"pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    b"1\tA man\tA boy\t3.2\tNEUTRAL\n2\tA cat\tA dog\t1\tCONTRADICTION\n"
)
STSB = b"main-news\tx\t2016\t1\t3.8\tOne.\tTwo.\nmain-news\tx\t2016\t2\t4\tOne.\tTwo.\tn\tn\n"
MNLI = b"genre\tgold_label\tsentence1\tsentence2\nfiction\tneutral\tA.\tB.\n"
MRPC = b"Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t1\t2\tA.\tB.\n"
CONLL = b"-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nsays VB I-VP O\n\nyes UH O O\n"

READERS = {
    "tsv": (partial(formats.read_tsv, columns=ONE), TABLE),
    "csv": (partial(formats.read_csv, columns=ONE), TABLE.replace(b"\t", b",")),
    "tsv with groups": (partial(formats.read_tsv, columns=GROUPED), TABLE),
    "jsonl": (partial(formats.read_jsonl, columns=ONE), JSON),
    "tsv of sets": (
        partial(formats.read_tsv, columns=ONE, parse_label=formats.joined_labels),
        b"text\tlabel\na\tx|y\nb\t\nc\ty\n",
    ),
    "jsonl of sets": (
        partial(formats.read_jsonl, columns=ONE, parse_label=formats.listed_labels),
        JSON.replace(b'"x"', b'["x", "y"]').replace(b": 1", b": [1]"),
    ),
    "conll": (formats.read_conll, b"EU B-ORG\nsays O\n\nyes O\n"),
    "conll2003": (formats.read_conll2003, CONLL),
    "sst2": (formats.read_sst2, b"sentence\tlabel\na b \t1\nc\t0\n"),
    "sick_e": (formats.read_sick_entailment, SICK),
    "sick_r": (formats.read_sick_relatedness, SICK),
    "mrpc": (formats.read_mrpc, MRPC),
    "mnli": (formats.read_mnli, MNLI),
    "stsb": (formats.read_stsb, STSB),
    "cola": (formats.read_cola, b"gj04\t1\t\tOne.\ngj04\t0\t*\tTwo.\n"),
    "trec": (formats.read_trec, b"DESC:manner How ?\nNUM:dist How far ?\n"),
}
PIECES = [
    b"\0", b"\t", b"\n", b"\r", b"\r\n", b" ", b'"', b",", b"\\", b"{", b"}", b"[", b":", b"NaN",
    b"\xe9", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1f\x8b", b"\xe2\x80\xa8", b"\xc2\x85", b"\x0b",
    b"\x1c", b"\xc2\xa0", b"\xe3\x80\x80", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"-DOCSTART-",
    b"1e39", b"-1", b"\n\n", b"null", b"\xf0\x9f\x98\x80",
]  # fmt: skip


def _mutated(content: bytes, generator: random.Random) -> bytes:
    for _ in range(generator.randint(1, 3)):
        start = generator.randint(0, len(content))
        end = min(len(content), start + generator.choice([0, 0, 1, 1, 3, 10]))
        piece = generator.choice([b"", bytes([generator.randrange(256)]), *PIECES])
        content = content[:start] + piece + content[end:]
    return content


def _is_valid(example: Record | TaggedSentence, labelled: bool) -> bool:
    if isinstance(example, TaggedSentence):
        tags = example.tags if labelled else example.words
        return len(example.words) == len(tags) and all(example.words) and all(tags)
    texts = [example.text_a] if example.text_b is None else [example.text_a, example.text_b]
    for text in texts:
        text.encode("utf-8")
    clean = all(text.strip() or text and "\0" not in text for text in texts)
    return clean and (example.label is not None) == labelled


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("reader", READERS)
def test_damaged_files_give_examples_or_a_data_error(tmp_path, reader, labelled):
    read, content = READERS[reader]
    generator = random.Random(f"{reader} {labelled}")
    path = tmp_path / "file"
    accepted = 0
    for _ in range(INPUTS):
        path.write_bytes(_mutated(content, generator))
        try:
            examples = read(path, labelled=labelled)
        except DataError as error:
            assert str(error).startswith(str(path))
            continue
        accepted += 1
        assert examples
        assert all(_is_valid(example, labelled) for example in examples)
    # A reader that refused everything, or nothing, would be tested for nothing.
    assert 0.03 * INPUTS < accepted < 0.95 * INPUTS
