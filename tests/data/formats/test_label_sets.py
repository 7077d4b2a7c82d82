"""Sets of labels in tables, in JSON lines and in memory."""

import pytest

from tf_adapt.data.formats.label_sets import (
    check_separated,
    joined,
    joined_labels,
    listed_labels,
)
from tf_adapt.errors import DataError
from tf_adapt.tasks.label_sets import split_joined


@pytest.mark.parametrize(
    ("field", "labels"),
    [
        ("", ()),
        ("a", ("a",)),
        ("b|a", ("a", "b")),
        ("sci fi|a, b|ü", ("a, b", "sci fi", "ü")),
    ],
)
def test_a_field_of_a_table(field, labels):
    assert joined_labels(field, "f:1") == labels
    assert split_joined(joined(labels)) == labels


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("a||b", "f:7: expected labels with one | between two of them, got an empty one"),
        ("a|", "got an empty one"),
        ("|", "got an empty one"),
        (" ", "expected a text in column 'label', got an empty one"),
        ("a | b", "expected a label without white space around it, got 'a '"),
        ("a|b|a", "expected each label once, got 'a' twice"),
    ],
)
def test_a_field_that_could_be_misread_is_refused(field, message):
    with pytest.raises(DataError) as caught:
        joined_labels(field, "f:7")
    assert message in str(caught.value)


def test_a_list_of_labels():
    for value in (["b", "a"], ("a", "b"), {"b", "a"}, frozenset("ab")):
        assert listed_labels(value, "f:1") == ("a", "b")
    assert listed_labels([], "f:1") == ()
    assert listed_labels([2, "10"], "f:1") == ("10", "2")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a|b", "f:7: expected a list of labels, empty where none applies, got str a|b"),
        (None, "expected a list of labels, empty where none applies, got NoneType"),
        (3, "expected a list of labels"),
        ({"a": 1}, "expected a list of labels, empty where none applies, got dict"),
        (["a|b"], "expected a label without |, which stands between labels in files, got 'a|b'"),
        ([""], "got an empty one"),
        ([["a"]], "expected a text as label, got list"),
        ([True], "expected a text as label, got bool"),
        ([float("nan")], "expected a text as label, got float nan"),
        (["a\tb"], "expected a label on one line without tabs"),
    ],
)
def test_a_list_that_is_none_is_refused(value, message):
    with pytest.raises(DataError) as caught:
        listed_labels(value, "f:7")
    assert message in str(caught.value)


@pytest.mark.parametrize("label", ["a,b", "a, b", "b; a", "a/b"])
def test_another_separator_is_seen_by_its_parts(label):
    with pytest.raises(DataError, match=r"train: expected labels with \| between them, got "):
        check_separated(["a", "b", label], "train")
    check_separated(["a", "c", label], "train")
