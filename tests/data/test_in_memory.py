"""Lists, dicts and pandas frames as records."""

import numpy as np
import pandas as pd
import pytest

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.in_memory.records import in_memory_records
from tf_adapt.errors import DataError
from tf_adapt.tasks.task import Task

TEXT = Task("classification", labels=["no", "yes"])
PAIR = Task("pair_classification", labels=["no", "yes"])
SCORE = Task("pair_regression")
SETS = Task("multilabel_classification", labels=["a", "b"])
TAGS = Task("tagging", labels=["O", "B-PER", "I-PER"])


def test_texts_and_labels():
    assert in_memory_records(["a", ("b", "yes"), ["c", 0]], TEXT) == [
        Record("a", where="example 1"),
        Record("b", label="yes", where="example 2"),
        Record("c", label=0, where="example 3"),
    ]


def test_pairs():
    assert in_memory_records([("a", "b"), ("c", "d", 2.5)], SCORE) == [
        Record("a", "b", where="example 1"),
        Record("c", "d", 2.5, where="example 2"),
    ]


def test_records_pass_and_get_a_place_if_they_have_none():
    records = [Record("a", where="f.tsv:7"), Record("b")]
    assert in_memory_records(records, TEXT) == [records[0], Record("b", where="example 2")]
    sentences = [TaggedSentence(("a",), where="f:1"), TaggedSentence(("b",), ("O",))]
    assert in_memory_records(sentences, TAGS) == [
        sentences[0],
        TaggedSentence(("b",), ("O",), "example 2"),
    ]


def test_tagged_sentences():
    data = [["a", "b"], (["c", "d"], ["O", "B-PER"]), ("e", "f"), [["g"], None], ["h"]]
    assert in_memory_records(data, TAGS) == [
        TaggedSentence(("a", "b"), None, "example 1", -1),
        TaggedSentence(("c", "d"), ("O", "B-PER"), "example 2", -2),
        TaggedSentence(("e", "f"), None, "example 3", -3),
        TaggedSentence(("g",), None, "example 4", -4),
        TaggedSentence(("h",), None, "example 5", -5),
    ]


def test_dicts():
    rows = [{"text_a": "a", "text_b": "b", "label": "yes"}, {"text_a": "c", "text_b": "d"}]
    assert in_memory_records(rows, PAIR) == [
        Record("a", "b", "yes", "example 1"),
        Record("c", "d", None, "example 2"),
    ]


def test_groups_of_dicts_and_frames():
    rows = [{"text": "a", "group": "mail 7"}, {"text": "b", "group": 7}, {"text": "c"}]
    assert [record.group for record in in_memory_records(rows, TEXT)] == ["mail 7", "7", None]
    frame = pd.DataFrame({"text_a": ["a"], "text_b": ["b"], "group": [np.int64(3)]})
    assert in_memory_records(frame, PAIR) == [Record("a", "b", where="example 1", group="3")]
    frame = pd.DataFrame({"text": ["a", "b"], "group": ["x", None]})
    assert [record.group for record in in_memory_records(frame, TEXT)] == ["x", None]
    record = Record("a", where="f:1", group="g")
    assert in_memory_records([record], TEXT) == [record]


def test_pandas_frames():
    frame = pd.DataFrame({"text": ["a", "b"], "label": ["yes", None]})
    assert in_memory_records(frame, TEXT) == [
        Record("a", label="yes", where="example 1"),
        Record("b", where="example 2"),
    ]
    frame = pd.DataFrame({"text_a": ["a"], "text_b": ["b"], "label": [np.float64(1.5)]})
    assert in_memory_records(frame, SCORE) == [Record("a", "b", 1.5, "example 1")]
    frame = pd.DataFrame({"text": ["a", "b"], "label": pd.array([1, None], dtype="Int64")})
    assert [record.label for record in in_memory_records(frame, TEXT)] == [1, None]
    frame = pd.DataFrame({"words": [["a", "b"]], "tags": [["B-PER", "I-PER"]]})
    assert in_memory_records(frame, TAGS) == [
        TaggedSentence(("a", "b"), ("B-PER", "I-PER"), "example 1", -1)
    ]


def test_series_and_arrays_of_texts():
    for data in (pd.Series(["a", "b"]), np.array(["a", "b"]), iter(["a", "b"])):
        assert [record.text_a for record in in_memory_records(data, TEXT)] == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "task", "message"),
    [
        ("one text", TEXT, "expected a list of examples, .* got str"),
        (7, TEXT, "expected a list of examples, .* got int"),
        ([], TEXT, "expected at least one example, got none"),
        (pd.DataFrame({"text": []}), TEXT, "expected at least one example, got none"),
        (["a", ("b", "c", "d")], TEXT, r"example 2: expected a text or \(text, label\)"),
        (["a", None], TEXT, "example 2: expected a text"),
        ([("a", "yes"), (3, "yes")], TEXT, "example 2: expected a text"),
        (["a"], PAIR, r"example 1: expected \(text, text\) or \(text, text, label\)"),
        ([Record("a", where="f:1")], PAIR, r"example 1: expected \(text, text\)"),
        ([Record("a", "b", where="f:1")], TEXT, "example 1: expected a text"),
        ([TaggedSentence(("a",))], TEXT, "example 1: expected a text"),
        ([Record("a")], TAGS, "example 1: expected a list of words"),
        (["a b c"], TAGS, "example 1: expected a list of words, or .* got 'a b c'"),
        ([["a", "b"], []], TAGS, "example 2: expected a list of words"),
        ([["a", 3]], TAGS, "example 1: expected a list of words"),
        ([(["a", "b"], ["O"])], TAGS, "example 1: expected 2 tags, one for each word, got 1"),
        ([(["a"], "O")], TAGS, "example 1: expected a list of words"),
        ([(["a"], ["I-PER"])], TAGS, "example 1.*'I-PER' is not legal in the scheme IOB2"),
        ([{"sentence": "a"}], TEXT, "expected the columns text, .* got 'sentence'"),
        ([{"text": "a", "text_a": "b"}], TEXT, "expected the columns text"),
        (pd.DataFrame({"text": ["a", None]}), TEXT, "example 2: expected a text"),
        ([{"text": "a", "group": ""}], TEXT, "example 1: .* in column 'group', got an empty one"),
        ([{"text": "a", "group": 1.5}], TEXT, "example 1: .* whole number in column 'group', got"),
        ([("a", ["yes"])], TEXT, r"example 1: expected one label, got \['yes'\]"),
        ([{"words": ["a"], "group": "g"}], TAGS, "example 1: expected the columns .* 'group'"),
    ],
)
def test_wrong_forms_are_named(data, task, message):
    with pytest.raises(DataError, match=message):
        in_memory_records(data, task)


def test_sets_of_labels():
    frame = pd.DataFrame({"text": ["x", "y"], "label": [["b", "a"], []]})
    assert [one.label for one in in_memory_records(frame, SETS)] == [("a", "b"), ()]
    data = [("x", {"b"}), ("x", ()), Record("x", label=["b", "a"]), "x", ("x", np.array(["a"]))]
    found = [one.label for one in in_memory_records(data, SETS)]
    assert found == [("b",), (), ("a", "b"), None, ("a",)]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("a", r"example 1: expected a list of labels, .*got str a"),
        ("a|b", r"example 1: expected a list of labels, .*got str a\|b"),
        ([0, 1], r"example 1: expected names of labels, got \[0, 1\]"),
        (1, "expected a list of labels"),
        (["a", "a"], "expected each label once, got 'a' twice"),
        ([None], "expected a text as label, got NoneType"),
    ],
)
def test_what_could_be_misread_as_a_set_is_refused(label, message):
    with pytest.raises(DataError, match=message):
        in_memory_records([("x", label)], SETS)
