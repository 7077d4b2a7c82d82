from dataclasses import replace
from types import SimpleNamespace

import pytest

from tf_adapt.data.check import check_data, refuse_over_long
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits.fingerprints import fingerprint
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import DataError


def splits_of(kind, **examples) -> Splits:
    descriptions = {split: f"the {split} part" for split in examples}
    return Splits("mine", kind, None, None, None, "IOB2", examples, descriptions)


def prepared(lengths, truncated=0):
    return SimpleNamespace(uncut_lengths=lengths, truncated=truncated)


def test_report():
    train = [
        Record("one two three", label="yes"),
        Record("one", label="no"),
        Record("one", label="yes"),
        Record("two", label="no"),
        Record("two", label="no"),
    ]
    dev = [
        Record("one", label="no"),
        Record("two", label="no"),
        Record("one two three", label="no"),
    ]
    splits = splits_of("classification", train=train, dev=dev)
    report = check_data(splits, {"train": prepared([5, 3, 3, 3, 3], 1), "dev": prepared([3])})
    assert report["train"] == {
        "what": "the train part",
        "examples": 5,
        "labels": {"no": 3, "yes": 2},
        "words": {"mean": 1.4, "median": 1.0, "99 %": 2.9, "longest": 3},
        "tokens": {"mean": 3.4, "median": 3.0, "99 %": 4.9, "longest": 5},
        "longer than the limit": 1,
    }
    assert report["duplicates"] == {"within train": 1, "within dev": 0, "in both train and dev": 1}
    assert report["contradictions"] == report["duplicates"] | {"in both train and dev": 2}
    with pytest.raises(DataError, match=r"longer ones: 1 in train; .*training\.truncate: true"):
        refuse_over_long(report)


def test_report_on_pairs_with_scores():
    train = [Record("a b", "c", label=1.0), Record("a", "c", label=4.0)]
    report = check_data(splits_of("pair_regression", train=train), {"train": prepared([6, 5])})
    assert report["train"]["labels"] == {"least": 1.0, "mean": 2.5, "most": 4.0}
    assert report["train"]["words"]["longest"] == 3
    assert report["duplicates"] == {"within train": 0}
    refuse_over_long(report)


def test_report_on_tags():
    train = [TaggedSentence(("Ann", "ran"), ("B-PER", "O")), TaggedSentence(("Go",), ("O",))]
    report = check_data(splits_of("tagging", train=train), {"train": prepared([4, 3])})
    assert report["train"]["labels"] == {"B-PER": 1, "O": 2}


def test_fingerprint_is_of_texts_and_labels_in_order():
    one, two = Record("a", label="x", where="f:1"), Record("b", label="y", where="f:2")
    assert fingerprint([one, two]) == fingerprint([Record("a", label="x"), two])
    assert fingerprint([one, two]) != fingerprint([two, one])
    assert fingerprint([one]) != fingerprint([Record("a", label="y")])
    assert fingerprint([one]) != fingerprint([Record("a", label="x", group="g")])
    tagged = fingerprint([TaggedSentence(("a",), ("O",))])
    assert tagged != fingerprint([TaggedSentence(("a",), ("B-X",))])
    # A document is one test item, and its sentences are each other's context.
    assert tagged != fingerprint([TaggedSentence(("a",), ("O",), document=1)])


def records(split, *pairs):
    return [
        Record(text, label=label, where=f"{split}:{line}")
        for line, (text, label) in enumerate(pairs, start=2)
    ]


def test_what_is_suspicious_about_labels():
    train = records(
        "train",
        *[("a b", "SHIPPING"), ("c", "shipping"), ("a b", "shipping")],
        *[("d", "x"), ("e", "x"), ("f", "SHIPPING")],
    )
    dev = records("dev", ("d", "shipping"), ("g", "x"))
    splits = replace(
        splits_of("classification", train=[*train, *records("t", ("h", "rare"))], dev=dev),
        labels=["SHIPPING", "rare", "shipping", "x", "never"],
    )
    assert check_data(splits)["warnings"] == [
        "once in train: 'rare'; nothing can be learnt from one example",
        "not in train: 'never'",
        "not in dev: 'SHIPPING', 'rare' and 'never'",
        "labels that differ in case or space alone: 'SHIPPING' and 'shipping'; are they one?",
        "one text, several labels: 'a b': SHIPPING (train:2); shipping (train:4)",
        "one text, several labels: 'd': x (train:5); shipping (dev:2)",
    ]
    assert check_data(splits_of("regression", train=[Record("a", label=1.0)]))["warnings"] == []
