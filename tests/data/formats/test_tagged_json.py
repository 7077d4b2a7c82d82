"""Tagged sentences in JSON: words and tags, or texts and spans."""

import json

import pytest
from tensorflow_text.python.ops.bert_tokenizer import BasicTokenizer

from tf_adapt.data.formats.json_fields import tagged_fields
from tf_adapt.data.formats.tagged_json import read_tagged_json
from tf_adapt.data.formats.text_words import split_text
from tf_adapt.errors import DataError

TEXT = "Ann Lee (born 1815) left Oslo, by train."
WORDS = ("Ann", "Lee", "(", "born", "1815", ")", "left", "Oslo", ",", "by", "train", ".")
TAGS = ("B-PER", "I-PER", *"OOOOO", "B-LOC", *"OOOO")
SPANS = [[0, 7, "PER"], [25, 29, "LOC"]]
OBJECTS = [dict(zip(("start", "end", "label"), span, strict=True)) for span in SPANS]
OFFSETS = [{"start_offset": s, "end_offset": e, "label": label} for s, e, label in SPANS]


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ({"tokens": WORDS, "ner_tags": TAGS}, {"words": "tokens", "tags": "ner_tags"}),
        ({"id": 1, "text": TEXT, "label": SPANS}, {"text_a": "text", "tags": "label"}),
        ({"text": TEXT, "entities": OFFSETS}, {"text_a": "text", "tags": "entities"}),
        (
            {"text": TEXT, "tokens": [{"text": "Ann"}], "spans": OBJECTS},
            {"text_a": "text", "tags": "spans"},
        ),
        ([TEXT, {"entities": SPANS}], {"text_a": "text", "tags": "entities"}),
    ],
    ids=["huggingface", "doccano", "doccano_relations", "prodigy", "spacy"],
)
@pytest.mark.parametrize("as_array", [False, True])
def test_formats(tmp_path, value, fields, as_array):
    path = tmp_path / "data.json"
    path.write_text(json.dumps([value, value], indent=1) if as_array else json.dumps(value))
    assert tagged_fields(path) == fields
    sentence, *_ = read_tagged_json(path, fields)
    assert (sentence.words, sentence.tags) == (WORDS, TAGS)
    assert sentence.where == (f"{path}: item 1" if as_array else f"{path}: line 1")
    assert read_tagged_json(path, fields, labelled=False)[0].tags is None


def test_numbers_are_names_of_labels(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"tokens": ["Ann", "ran"], "tags": [1, 0]}\n')
    fields = {"words": "tokens", "tags": "tags"}
    assert read_tagged_json(path, fields, ["O", "B-PER"])[0].tags == ("B-PER", "O")
    with pytest.raises(DataError, match="in data.labels the name of each number, got the number 1"):
        read_tagged_json(path, fields)


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([[1, 7, "PER"]], "begin and end where words do, got 'nn Lee' at character 1"),
        ([[0, 7, "PER"], [4, 7, "X"]], r"do not overlap, got 'Lee' \(X\)"),
        ([[0, 99, "PER"]], "within the text of 40 characters, got"),
        ([["Ann", "PER"]], "expected spans as"),
        (None, "field 'label', got none; add them, or set data.skip_unlabelled"),
    ],
)
def test_wrong_spans_are_told_together(tmp_path, spans, message):
    path = tmp_path / "data.jsonl"
    good = json.dumps({"text": TEXT, "label": SPANS})
    bad = json.dumps({"text": TEXT, "label": spans})
    path.write_text(f"{good}\n{bad}\n{good}\n{bad}\n")
    with pytest.raises(DataError, match=f"2 rows are wrong: lines 2, 4: .*({message})"):
        read_tagged_json(path, {"text_a": "text", "tags": "label"})


def test_white_space_at_the_ends_of_a_span_is_no_part_of_it(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"text": TEXT, "label": [[0, 8, "PER"], [24, 29, "LOC"]]}))
    assert read_tagged_json(path, {"text_a": "text", "tags": "label"})[0].tags == TAGS


ODD = ["naïve café–bar, 3,5 € (30%)…", "हिन्दी में", "東京に行く", "e-mail: a_b@c.de"]


@pytest.mark.parametrize("text", [TEXT, *ODD])
def test_words_are_those_of_bert(text):
    theirs = BasicTokenizer(lower_case=False).tokenize([text]).to_list()[0]
    assert [word.encode() for word in split_text(text)] == theirs
