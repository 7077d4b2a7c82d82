import pytest
from seqeval import scheme as seqeval

from tests.helpers.spelled_tags import all_entities, sentence_of, spell
from tf_adapt.data.tag_files import in_scheme, recognised_scheme, task_tags
from tf_adapt.errors import DataError
from tf_adapt.tasks.spans import spans

ORACLES = {
    "IOB1": seqeval.IOB1,
    "IOB2": seqeval.IOB2,
    "BIOES": seqeval.IOBES,
    "BILOU": seqeval.BILOU,
    "IO": seqeval.IOB1,
}


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("scheme", [*ORACLES, "BMES"])
def test_every_short_file_is_read_as_by_seqeval(scheme, bare):
    for entities in all_entities(4):
        tags = spell(entities, 4, scheme)
        if bare:  # the first type alone
            if any(kind == "Y" for *_, kind in entities):
                continue
            tags = tuple(tag.partition("-")[0] for tag in tags)
        expected = [(kind, start, end) for start, end, kind in entities]
        if scheme in ORACLES:  # IO joins neighbours of a type
            (found,) = seqeval.Entities([list(tags)], ORACLES[scheme]).entities
            expected = [one.to_tuple()[1:] for one in found]
        if bare:
            expected = [("CHUNK", *place) for _, *place in expected]
        for said in (None, scheme):
            (read,) = in_scheme([sentence_of(tags)], said, "IOB2", "train")
            assert spans(read.tags, strict="IOB2") == expected


def test_a_file_is_in_one_scheme():
    sentences = [sentence_of(["O", "B-X", "L-X"]), sentence_of(["U-Y"])]
    assert recognised_scheme(sentences, "train") == "BILOU"
    sentences = [sentence_of(["B", "M", "E"]), sentence_of(["S"])]
    assert recognised_scheme(sentences, "train") == "BMES"
    for tags in (["B-X", "U-X"], ["B-X", "M-X", "L-X"], ["B", "I-X"], ["I", "B"], ["b-X", "o"]):
        with pytest.raises(DataError, match="train: expected tags that are legal in one of IOB1"):
            recognised_scheme([sentence_of(["B-X"]), sentence_of(tags)], "train")


def test_the_letters_of_the_file_are_named():
    with pytest.raises(DataError, match="f.txt:11: .*BILOU: expected I-X or L-X after it, got O"):
        in_scheme([sentence_of(["U-X", "B-X", "O"])], None, "IOB2", "train")


def test_tags_of_words_alone():
    sentences = [sentence_of(["DT", "NN", "-LRB-", "S", "B"])]
    assert recognised_scheme(sentences, "train") == "words"
    assert in_scheme(sentences, None, "words", "train") == sentences
    with pytest.raises(
        DataError, match="dev: expected tags as B-TYPE and I-TYPE, got '-LRB-', 'B'"
    ):
        recognised_scheme(sentences, "dev", "IOB2")


def test_types_without_letters_need_a_word_from_the_user():
    sentences = [sentence_of(["O", "PER", "PER", "event-war"])]
    message = "train: .*got 'PER', 'event-war' .*data.scheme: IO .*, words where"
    with pytest.raises(DataError, match=message):
        recognised_scheme(sentences, "train")
    (read,) = in_scheme(sentences, "IO", "IOB2", "train")
    assert read.tags == ("O", "B-PER", "I-PER", "B-event-war")
    with pytest.raises(DataError, match="f.txt:11: tag 'B-PER' is not legal in the scheme IO"):
        in_scheme([sentence_of(["I-PER", "B-PER"])], "IO", "IOB2", "train")


@pytest.mark.parametrize(
    ("scheme", "tags", "expected"),
    [
        ("IOB2", ["O", "B-X"], ["O", "B-X"]),
        ("IOB2", ["O", "B", "I"], ["O", "B-CHUNK", "I-CHUNK"]),
        ("BILOU", ["O", "U-X", "B-Y", "L-Y"], ["O", "B-X", "I-X", "B-Y", "I-Y"]),
        ("IO", ["PER", "O"], ["O", "B-PER", "I-PER"]),
        ("words", ["NN", "B"], ["NN", "B"]),
    ],
)
def test_tags_that_a_config_lists(scheme, tags, expected):
    assert task_tags(tags, scheme) == expected
