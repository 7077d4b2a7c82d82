"""The matrix of legal transitions against `check_scheme`, on every short sequence of tags."""

import itertools

import pytest

from tf_adapt.data.formats.records import TaggedSentence
from tf_adapt.data.labels import SCHEMES, check_scheme, scheme_tags
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.tasks.tag_constraints import tag_constraints


def is_accepted(tags: tuple[str, ...], scheme: str) -> bool:
    try:
        check_scheme([TaggedSentence(("word",) * len(tags), tags)], scheme)
    except DataError:
        return False
    return True


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_sequence_of_up_to_four_tags(scheme):
    labels = scheme_tags(["PER", "LOC"], scheme)
    allowed = tag_constraints(labels, scheme)
    start, end = len(labels), len(labels) + 1
    verdicts = []
    for length in range(5):
        for path in itertools.product(range(len(labels)), repeat=length):
            whole = [start, *path, end]
            verdict = all(allowed[a][b] for a, b in itertools.pairwise(whole))
            tags = tuple(labels[index] for index in path)
            assert verdict == is_accepted(tags, scheme), tags
            verdicts.append(verdict)
    assert len(verdicts) == sum(len(labels) ** length for length in range(5))
    assert any(verdicts) and not all(verdicts)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_leads_to_the_start_and_nothing_from_the_end(scheme):
    allowed = tag_constraints(["B-X", "O", "I-X"], scheme)
    assert [len(row) for row in allowed] == [5] * 5
    assert not any(row[3] for row in allowed)
    assert allowed[4] == [False] * 5


def test_iob2_by_pencil():
    assert tag_constraints(["O", "B-X", "I-X", "I-Y"], "IOB2") == [
        # O    B-X    I-X   I-Y    start   end
        [True, True, False, False, False, True],
        [True, True, True, False, False, True],
        [True, True, True, False, False, True],
        [True, True, False, True, False, True],
        [True, True, False, False, False, True],
        [False] * 6,
    ]


def test_a_type_may_contain_a_dash():
    allowed = tag_constraints(["O", "B-a-b", "I-a-b", "I-a"], "IOB2")
    assert allowed[1][:4] == [True, True, True, False]


def test_an_unknown_scheme():
    with pytest.raises(
        ConfigError, match="scheme: expected one of IOB1, IOB2, BIOES, words, got 'BIO'"
    ):
        tag_constraints(["O"], "BIO")


@pytest.mark.parametrize("label", ["S-X", "B", "B-", "", "X-B"])
def test_a_label_of_another_scheme(label):
    with pytest.raises(ConfigError, match=f"expected O, B-TYPE or I-TYPE.* got {label!r}"):
        tag_constraints(["O", label], "IOB2")
