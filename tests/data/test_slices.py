"""What a word is, and which examples the rules of a slice select: by hand."""

import numpy as np
import pytest

from tf_adapt.data import slices
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.errors import DataError

PAIRS = [
    Record("The dog sleeps .", "A dog doesn't run!", where="/data/a/dev.tsv:2"),
    Record("No man sings", "a man", where="/data/a/dev.tsv:3"),
    Record("one two three four", "four THREE two", where="/data/a/dev.tsv:4"),
    Record("...", "?", where="/data/a/dev.tsv:5"),
    Record("a knot is nothing", "not-ing", where="/data/b/dev.tsv:2"),
]
SENTENCES = [
    TaggedSentence(("Ann", "does", "n't", "!"), where="x.conll:1"),
    TaggedSentence(("Not", "Ann"), where="x.conll:6"),
]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't, can’t; ISN'T", ["i", "do", "n't", "ca", "n't", "is", "n't"]),
        ("He did n't go .", ["he", "did", "n't", "go"]),
        ("John's o'clock 'quoted' we'll", ["john", "'s", "o", "clock", "quoted", "we", "'ll"]),
        (
            "well-known end.Next snake_case 3.5",
            ["well", "known", "end", "next", "snake", "case", "3", "5"],
        ),
        ("हिन्दी Straße", ["हिन्दी", "strasse"]),
        ("?! ...", []),
        ("", []),
    ],
)
def test_words(text, words):
    assert slices.words_of(text) == words


def test_one_of_the_words_in_either_text():
    found = slices.with_words(PAIRS, ["not", "NO", "n’t"])
    assert found.tolist() == [True, True, False, False, True]
    assert slices.with_words(PAIRS, ["thing"]).tolist() == [False] * 5
    assert slices.with_words(SENTENCES, ["not", "no"]).tolist() == [False, True]
    assert slices.with_words(SENTENCES, ["n't"]).tolist() == [True, False]


def test_more_words_than_that_in_either_text():
    # 3 and 5 (n't is one), 3 and 2, 4 and 3, none, 4 and 2.
    assert slices.longer_than(PAIRS, 3).tolist() == [True, False, True, False, True]
    assert slices.longer_than(PAIRS, 4).tolist() == [True, False, False, False, False]
    # The words of the data, punctuation too.
    assert slices.longer_than(SENTENCES, 3).tolist() == [True, False]


def test_word_overlap_is_jaccards_index():
    # the dog sleeps, a dog does n't run: 1 of 7. no man sings, a man: 1 of 4. 3 of 4. None. 0 of 6.
    expected = [1 / 7, 1 / 4, 3 / 4, 0, 0]
    assert [slices.word_overlap(one) for one in PAIRS] == pytest.approx(expected)
    assert slices.with_overlap(PAIRS, 0.25).tolist() == [False, False, True, False, False]


def test_places_with_as_much_of_the_path_as_needed(tmp_path):
    file = tmp_path / "ids.txt"
    file.write_text("dev.tsv:4\nb/dev.tsv:2\n/data/a/dev.tsv:3\n", "utf-8")
    places = slices.read_places(file)
    slices.check_places(file, places, PAIRS)
    assert slices.at_places(PAIRS, places).tolist() == [False, True, True, False, True]
    assert not slices.at_places(PAIRS, ["ev.tsv:4", "dev.tsv:44"]).any()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dev.tsv:4\ndev.tsv:44\n", "ids.txt:2: expected the place of an example .* 'dev.tsv:44'"),
        ("dev.tsv:2\n", "ids.txt:1: .* one example, got 'dev.tsv:2', .* /data/a/dev.tsv:2 and /d"),
        ("dev.tsv:4\n\n", "ids.txt:2: .* got an empty line"),
        ("", "ids.txt: expected places of examples, .* got none"),
    ],
)
def test_wrong_places(tmp_path, content, message):
    file = tmp_path / "ids.txt"
    file.write_text(content, "utf-8")
    with pytest.raises(DataError, match=message):
        slices.check_places(file, slices.read_places(file), PAIRS)


def test_masks_are_of_bool():
    assert slices.longer_than(PAIRS, 3).dtype == np.bool_
