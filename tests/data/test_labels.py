import itertools
import re

import numpy as np
import pytest

import tf_adapt as ta
from tests.helpers.spelled_tags import LETTERS, TYPES, all_entities, sentence_of, spell
from tf_adapt.data.formats import Record, TaggedSentence, read_conll2003
from tf_adapt.data.labels import (
    check_labels,
    check_scheme,
    convert_scheme,
    label_ids,
    label_set,
    scheme_tags,
)
from tf_adapt.errors import ConfigError, DataError

SCHEMES = ("IOB1", "IOB2", "BIOES")


def test_conversions_keep_every_possible_set_of_entities():
    every = ((length, entities) for length in range(6) for entities in all_entities(length))
    for length, entities in every:
        spelled = {scheme: spell(entities, length, scheme) for scheme in (*SCHEMES, *LETTERS)}
        for source, target in itertools.product(spelled, SCHEMES):
            (converted,) = convert_scheme([sentence_of(spelled[source])], source, target)
            assert converted == sentence_of(spelled[target])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_exactly_the_sequences_that_spell_entities_are_legal(scheme):
    lengths = range(1, 5)
    legal = {spell(entities, n, scheme) for n in lengths for entities in all_entities(n)}
    tags = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in TYPES)]
    every = itertools.chain.from_iterable(itertools.product(tags, repeat=n) for n in lengths)
    for sequence in every:
        try:
            check_scheme([sentence_of(sequence)], scheme)
            accepted = True
        except DataError:
            accepted = False
        assert accepted == (sequence in legal), sequence


@pytest.mark.parametrize("scheme", SCHEMES)
def test_d13_malformed_tags(scheme):
    for tag in ("B_PER", "B-", "-", "b-per", "PER", "O-PER", "o", "BI-PER", " O"):
        message = f"f.txt:12: tag {tag!r} is not legal in the scheme {scheme}: expected O, B-TYPE "
        with pytest.raises(DataError, match=re.escape(message)):
            check_scheme([sentence_of(["O", "O"]), sentence_of(["O", "O", tag])], scheme)


@pytest.mark.parametrize(
    ("scheme", "tags", "line", "message"),
    [
        ("IOB2", ["B-PER", "O", "I-PER"], 12, "expected B-PER or I-PER before it, got O"),
        ("IOB2", ["B-PER", "I-ORG"], 11, "expected B-ORG or I-ORG before it, got B-PER"),
        ("IOB2", ["S-PER"], 10, "expected O, B-TYPE or I-TYPE"),
        ("IOB1", ["O", "B-PER"], 11, "B-PER only separates two neighbouring entities"),
        ("IOB1", ["I-ORG", "B-PER"], 11, "but follows I-ORG"),
        ("BIOES", ["O", "B-PER"], 11, "expected I-PER or E-PER after it, got O"),
        ("BIOES", ["B-PER", "I-PER", "S-PER"], 11, "expected I-PER or E-PER after it, got S-PER"),
        ("BIOES", ["S-PER", "E-PER"], 11, "expected B-PER or I-PER before it, got S-PER"),
    ],
)
def test_d13_illegal_neighbours_are_named_with_their_line(scheme, tags, line, message):
    with pytest.raises(DataError, match=f"f.txt:{line}: tag .* scheme {scheme}: .*{message}"):
        check_scheme([sentence_of(tags)], scheme)


def test_a_type_may_hold_a_hyphen():
    sentence = sentence_of(["B-PER-X", "I-PER-X", "B-PER"])
    (converted,) = convert_scheme([sentence], "IOB2", "BIOES")
    assert converted.tags == ("B-PER-X", "E-PER-X", "S-PER")


def test_tags_and_words_must_be_as_many():
    with pytest.raises(DataError, match="f:1: expected 2 tags, one for each word, got 1"):
        check_scheme([TaggedSentence(("a", "b"), ("O",), "f:1")], "IOB2")
    with pytest.raises(DataError, match="f:1: expected a tag for each word, got no tags"):
        check_scheme([TaggedSentence(("a",), None, "f:1")], "IOB2")


def test_unknown_scheme():
    for call in (
        lambda: check_scheme([], "BIO"),
        lambda: convert_scheme([], "IOB2", "BIO"),
        lambda: scheme_tags(["PER"], "BIO"),
    ):
        with pytest.raises(ConfigError, match="scheme: expected one of IOB1, IOB2.*, got 'BIO'"):
            call()


def test_scheme_tags():
    assert scheme_tags(["X", "Y"], "IOB2") == ["O", "B-X", "I-X", "B-Y", "I-Y"]
    assert scheme_tags(["X"], "BIOES") == ["O", "B-X", "I-X", "E-X", "S-X"]


def test_places_of_words():
    assert sentence_of("OOO", "a:b/c:7").place_of(2) == "a:b/c:9"
    assert sentence_of("OOO", "glue/x:train[3]").place_of(2) == "glue/x:train[3], word 3"
    assert sentence_of("OOO", "").place_of(0) == "sentence, word 1"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "entities"), [("eng.train", 23_499), ("eng.testa", 5_942)])
def test_official_number_of_entities_survives_every_conversion(shared, name, entities):
    sentences = read_conll2003(shared / "data" / "conll2003" / name)
    iob2 = convert_scheme(sentences, "IOB1", "IOB2")
    assert sum(tag[0] == "B" for sentence in iob2 for tag in sentence.tags) == entities
    bioes = convert_scheme(iob2, "IOB2", "BIOES")
    assert sum(tag[0] in "BS" for sentence in bioes for tag in sentence.tags) == entities
    assert sum(tag[0] in "ES" for sentence in bioes for tag in sentence.tags) == entities
    assert convert_scheme(bioes, "BIOES", "IOB1") == sentences


def test_iob1_on_disk_is_not_taken_for_iob2(shared):
    sentences = read_conll2003(shared / "data" / "conll2003" / "eng.train")
    with pytest.raises(DataError, match="eng.train:1: tag 'I-ORG' is not legal in the scheme IOB2"):
        check_scheme(sentences, "IOB2")


def test_label_sets():
    records = [Record("a", label=label) for label in ("y", "x", "y")]
    assert label_set(records, "train") == ["x", "y"]
    sentences = [sentence_of(["B-X", "I-X"]), sentence_of(["O", "B-A"])]
    assert label_set(sentences, "train") == ["O", "B-A", "B-X", "I-X"]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "no examples in train"),
        ([Record("a", label=None, where="f:2")], "f:2: expected a label, got none"),
        ([Record("a", label=1.5, where="f:2")], "f:2: expected a text as label, got 1.5"),
    ],
)
def test_label_sets_need_labels(records, message):
    with pytest.raises(DataError, match=message):
        label_set(records, "train")


def test_unknown_label_is_named_with_place_and_count():
    labels = ["z", "x", "q", "z", "z"]
    records = [Record("a", label=label, where=f"dev:{i}") for i, label in enumerate(labels)]
    with pytest.raises(DataError) as error:
        check_labels(records, ["x", "y"], "dev")
    assert "dev: expected the labels 'x', 'y'" in str(error.value)
    assert "'z', first at dev:0, 3 in all; 'q', first at dev:2, 1 in all" in str(error.value)


def test_unknown_tag_is_named_with_its_own_line():
    with pytest.raises(DataError, match="'B-Y', first at f.txt:12, 1 in all"):
        check_labels([sentence_of(["O", "B-X", "B-Y"])], ["O", "B-X", "I-X"], "dev")


def test_d12_ids_outside_the_labels_are_refused():
    for label in (-1, 2, True, 0.0):
        message = rf"ids from 0 to 1\), got {label}, first at f:1, 1 in all"
        with pytest.raises(DataError, match=message):
            check_labels([Record("a", label=label, where="f:1")], ["x", "y"], "train")


def test_known_labels_and_ids_pass():
    check_labels([Record("a", label=label) for label in ("x", "y", 0, 1)], ["x", "y"], "train")


def test_d14_targets_must_be_finite():
    message = r"f:1: expected a finite number \(float32\) as label, got"
    for label in (float("nan"), float("inf"), -float("inf"), 1e39, 10**400):
        with pytest.raises(DataError, match=message):
            check_labels([Record("a", "b", label, "f:1")], None, "train")


def test_targets_must_be_numbers_in_range():
    check_labels([Record("a", "b", label) for label in (0, 5.0, 2.5)], None, "train", (0, 5))
    with pytest.raises(DataError, match="f:1: expected a label from 0 to 5, got 5.1"):
        check_labels([Record("a", "b", 5.1, "f:1")], None, "train", (0, 5))
    with pytest.raises(DataError, match="f:1: expected a number as label, got 'x'"):
        check_labels([Record("a", "b", "x", "f:1")], None, "train")


@pytest.mark.parametrize(
    ("labels", "given", "expected"),
    [
        (
            ["1", "2", "3", "4", "5"],
            [1, 4, "4", np.int64(5), 0, 6, True],
            [0, 3, 3, 4, None, None, None],
        ),
        (["-1", "0", "1"], [-1, 0, 1], [0, 1, 2]),
        (["bad", "good"], [0, 1, "good", 2, -1], [0, 1, 1, None, None]),
        (["1", "2", "none"], [1, 0, "1"], [None, None, 0]),
        ([1, 2], ["1", 2], [0, 1]),
    ],
)
def test_an_integer_is_an_id_or_the_name_with_its_digits(labels, given, expected):
    task = ta.Task("classification", labels=labels)
    assert [label_ids(task.labels)(one) for one in given] == expected
