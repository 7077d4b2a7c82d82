"""Columns in Python give the records that the same examples give as rows."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.in_memory.records import in_memory_records
from tf_adapt.errors import DataError
from tf_adapt.tasks.task import Task

TEXT = Task("classification", labels=["no", "yes"])
PAIR = Task("pair_classification", labels=["no", "yes"])
NUMBER = Task("regression")
SETS = Task("multilabel_classification", labels=["a", "b", "c"])
TAGS = Task("tagging", labels=["O", "B-PER", "I-PER"])

TEXTS, OTHERS, LABELS = ["é a", "b"], ["c", "d"], ["yes", "no"]
ROWS = [("é a", "yes"), ("b", "no")]
PAIR_ROWS = [("é a", "c", "yes"), ("b", "d", "no")]
COLUMNS = [list, tuple, np.array, pd.Series, tf.constant, lambda v: [one.encode() for one in v]]


@pytest.mark.parametrize("column", COLUMNS)
def test_columns_of_any_type(column):
    expected = in_memory_records(ROWS, TEXT)
    assert in_memory_records((column(TEXTS), column(LABELS)), TEXT) == expected
    assert in_memory_records({"text": column(TEXTS), "label": column(LABELS)}, TEXT) == expected
    ids = in_memory_records((column(TEXTS), np.array([1, 0])), TEXT)
    assert [record.label for record in ids] == [1, 0]
    pairs = in_memory_records(PAIR_ROWS, PAIR)
    x = (column(TEXTS), column(OTHERS))
    assert in_memory_records((x, column(LABELS)), PAIR) == pairs
    assert in_memory_records((list(x), column(LABELS)), PAIR) == pairs
    named = {"text_a": x[0], "text_b": x[1]}
    assert in_memory_records((named, column(LABELS)), PAIR) == pairs
    assert in_memory_records(named | {"label": column(LABELS)}, PAIR) == pairs


def test_x_alone():
    assert [one.text_a for one in in_memory_records(tf.constant(TEXTS), TEXT)] == TEXTS
    found = in_memory_records((TEXTS, np.array(OTHERS)), PAIR)
    assert [(one.text_a, one.text_b, one.label) for one in found] == [
        ("é a", "c", None),
        ("b", "d", None),
    ]


def test_groups_and_scores():
    found = in_memory_records({"text": TEXTS, "label": [1, 2.5], "group": np.array([7, 8])}, NUMBER)
    assert [(one.label, one.group) for one in found] == [(1, "7"), (2.5, "8")]
    missing = in_memory_records({"text": TEXTS, "label": pd.Series(["yes", None])}, TEXT)
    assert [one.label for one in missing] == ["yes", None]


def test_a_tuple_of_texts_is_two_rows_and_a_list_of_two_rows_stays_one():
    assert [one.text_a for one in in_memory_records(("a", "b"), TEXT)] == ["a", "b"]
    rows = [("a", "yes"), ("b", "no")]
    assert [one.label for one in in_memory_records(rows, TEXT)] == ["yes", "no"]
    rows = [["a", "b"], ["c", "d"]]
    assert [one.text_b for one in in_memory_records(rows, PAIR)] == ["b", "d"]


@pytest.mark.parametrize("column", [list, pd.Series, tf.ragged.constant])
def test_tagging(column):
    words, tags = [["Ann", "ran"], ["No"]], [["B-PER", "O"], ["O"]]
    expected = [
        TaggedSentence(("Ann", "ran"), ("B-PER", "O"), "example 1", -1),
        TaggedSentence(("No",), ("O",), "example 2", -2),
    ]
    assert in_memory_records((column(words), column(tags)), TAGS) == expected
    assert in_memory_records({"words": column(words), "tags": column(tags)}, TAGS) == expected
    assert in_memory_records(tf.ragged.constant(words), TAGS)[0].words == ("Ann", "ran")


@pytest.mark.parametrize("matrix", [np.array, tf.constant, lambda rows: np.array(rows, bool)])
def test_sets_as_names_or_as_a_matrix(matrix):
    expected = [("b", "c"), ()]
    for y in (
        matrix([[0, 1, 1], [0, 0, 0]]),
        [["c", "b"], []],
        tf.ragged.constant([["b", "c"], []]),
    ):
        assert [one.label for one in in_memory_records((TEXTS, y), SETS)] == expected


def _elements(structure):
    return tf.data.Dataset.from_tensor_slices(structure)


@pytest.mark.parametrize(
    ("structure", "task", "rows"),
    [
        (TEXTS, TEXT, TEXTS),
        ((TEXTS, LABELS), TEXT, ROWS),
        ((TEXTS, [1, 0]), TEXT, [("é a", 1), ("b", 0)]),
        ({"text": TEXTS, "label": LABELS}, TEXT, ROWS),
        ((TEXTS, OTHERS), PAIR, [("é a", "c"), ("b", "d")]),
        (((TEXTS, OTHERS), LABELS), PAIR, PAIR_ROWS),
        (({"text_a": TEXTS, "text_b": OTHERS}, LABELS), PAIR, PAIR_ROWS),
        ((TEXTS, [[1, 0, 1], [0, 0, 0]]), SETS, [("é a", ["a", "c"]), ("b", [])]),
        (
            (TEXTS, tf.ragged.constant([["a", "c"], []])),
            SETS,
            [("é a", ["a", "c"]), ("b", [])],
        ),
    ],
)
def test_datasets_single_and_batched(structure, task, rows):
    dataset = _elements(structure)
    for one in (dataset, dataset.batch(1), dataset.batch(5)):
        assert in_memory_records(one, task) == in_memory_records(rows, task)


def test_a_dataset_is_read_once_and_may_have_an_unknown_end():
    reads = []

    def texts():
        reads.append(1)
        yield from TEXTS

    dataset = tf.data.Dataset.from_generator(texts, output_signature=tf.TensorSpec([], tf.string))
    assert [one.text_a for one in in_memory_records(dataset, TEXT)] == TEXTS
    assert len(reads) == 1


@pytest.mark.parametrize(
    ("data", "task", "message"),
    [
        (
            {"text": TEXTS, "label": ["no"]},
            TEXT,
            "expected columns of one length, got 'text' with 2, 'label' with 1; give one value",
        ),
        ((TEXTS, ["no"]), TEXT, "columns of one length, got 'text' with 2, 'label' with 1"),
        ({"text": "a"}, TEXT, "expected as column 'text' a list, .* got str 'a'; a single example"),
        ({"body": TEXTS}, TEXT, "example 1: expected the columns text, .* got 'body'"),
        ({}, TEXT, "expected at least one example, got none"),
        ({"text": [b"a", b"\xff"]}, TEXT, "example 2: expected UTF-8 in column 'text', got .*0xff"),
        (np.array([b"a", b"\xff"], object), TEXT, "example 2: expected UTF-8 in column 'text'"),
        (np.array("a"), TEXT, "data: expected a list of examples, .* got ndarray"),
        (({"text": TEXTS, "label": LABELS}, LABELS), TEXT, "'label' in x or as y, got both"),
        (
            (TEXTS, [[0, 1], [1, 0]]),
            TEXT,
            r"example 1: expected one label, got \[0, 1\]; for scores",
        ),
        ((TEXTS, np.array([[1], [0]])), TEXT, r"example 1: expected one label, got \[1\]"),
        ((np.array([["a"], ["b"]]), LABELS), TEXT, "example 1: expected a text"),
        ((TEXTS, np.array([[0, 1], [1, 0]])), SETS, r"3 columns, .* got one of shape \[2, 2\]"),
        ((TEXTS, np.array([[0, 1, 2]] * 2)), SETS, r"matrix of 0 and 1 .* values from 0 to 2"),
        ((TEXTS, [[0, 1, 1], [0, 0, 0]]), SETS, "example 1: expected names of labels, got"),
        (
            ([("a", "b"), ("c", "d"), ("e", "f")], ["no"] * 3),
            PAIR,
            r"expected columns as \(\(texts_a, texts_b\), labels\), .*; rows go into a list",
        ),
        ((["Ann", "ran"], ["B-PER", "O"]), TAGS, "example 1: expected a list of words"),
        (_elements(TEXTS).repeat(), TEXT, r"that ends, got an infinite one; .*`\.take\(n\)`"),
        (_elements([["a"]]), TAGS, "expected for tagging a list .* got a tf.data.Dataset"),
        (_elements([1, 2]), TEXT, "as 'text' in the tf.data.Dataset a string, .* dtype=tf.int32"),
        (_elements([["a"]]).batch(1), TEXT, "a string, or a batch of strings .* got TensorSpec"),
        (
            _elements((TEXTS, LABELS, [1, 2])),
            TEXT,
            r"expected columns as \(texts, labels\), .*tuple",
        ),
        (_elements(TEXTS), PAIR, "with text, or text_a and text_b|example 1: expected"),
        (_elements({"label": LABELS}), TEXT, "with text, or text_a and text_b.* got 'label'"),
        (_elements((TEXTS, {"a": LABELS})), TEXT, "as 'label' in the tf.data.Dataset a tensor"),
    ],
)
def test_wrong_forms_are_named(data, task, message):
    with pytest.raises(DataError, match=message):
        in_memory_records(data, task)


def test_in_memory_data_needs_no_tensorflow():
    program = "import sys, tf_adapt.data.in_memory.records; assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
