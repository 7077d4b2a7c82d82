"""Texts to tokens: limits, truncation and splitting, labels, and what is refused."""

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.tasks.task import Task

TEXT = Task("classification", labels=["no", "yes"])
PAIR = Task("pair_classification", labels=["no", "yes"])
SCORE = Task("pair_regression", label_range=(0, 5))
TAGS = Task("tagging", labels=["O", "B-PER", "I-PER"])


def words(count: int, word: str = "ab") -> str:
    return " ".join([word] * count)


def test_units_lengths_and_targets(bert):
    prepared = prepare([("ab c", "yes"), ("d", 0)], TEXT, bert())
    assert prepared.segments[0].row_lengths().numpy().tolist() == [3, 1]
    assert prepared.lengths.tolist() == [5, 3]  # [CLS] and [SEP] counted
    assert prepared.targets.numpy().tolist() == [1, 0]
    assert prepared.targets.dtype == tf.int32
    assert prepared.truncated == 0


def test_pairs_are_joint_for_bert_and_apart_for_elmo(bert, elmo):
    records = [("a b", "c", 2.5), ("d", "e f g", 0)]
    joint = prepare(records, SCORE, bert())
    assert joint.joint
    assert joint.lengths.tolist() == [6, 7]
    assert joint.targets.dtype == tf.float32
    apart = prepare(records, SCORE, elmo())
    assert not apart.joint
    assert apart.lengths.tolist() == [2, 3]
    assert [s.row_lengths().numpy().tolist() for s in apart.segments] == [[2, 1], [1, 3]]


@pytest.mark.parametrize(("bound", "value"), [("_CHUNK", 8), ("_CHUNK_CHARACTERS", 21)])
def test_tokenizing_in_chunks_changes_nothing(bert, monkeypatch, bound, value):
    texts = [words(n % 7 + 1) for n in range(50)]
    sentences = [text.split() for text in texts]
    whole = prepare(texts, TEXT, bert()), prepare(sentences, TAGS, bert())
    monkeypatch.setattr(f"tf_adapt.data.packing.lengths.{bound}", value)
    parts = prepare(texts, TEXT, bert()), prepare(sentences, TAGS, bert())
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one.lengths, other.lengths)
        np.testing.assert_array_equal(one.segments[0].flat_values, other.segments[0].flat_values)


def test_d9_a_text_that_takes_gigabytes(bert, monkeypatch):
    monkeypatch.setattr("tf_adapt.data.formats.records.LONGEST_TEXT", 9)
    for task, one in ((TEXT, "five five"), (TAGS, (["five", "five"], ["O", "O"]))):
        prepare([one], task, bert(), truncate=True)
    for task, one in ((TEXT, "five five "), (TAGS, (["fives", "fives"], ["O", "O"]))):
        with pytest.raises(DataError, match="example 1: expected at most 9 characters .* got 10,"):
            prepare([one], task, bert(), truncate=True)


def test_d9_a_long_text_is_refused_with_its_place(bert):
    records = [Record("a", where="f.tsv:1"), Record(words(40), where="f.tsv:2")]
    with pytest.raises(DataError) as caught:
        prepare(records, TEXT, bert(64))
    assert str(caught.value).startswith("f.tsv:2: expected at most 64 tokens")
    assert "got 82 (1 too long in all); set truncate: true" in str(caught.value)


def test_d9_a_long_text_is_cut_and_counted_when_asked(bert):
    prepared = prepare(["a", words(40), words(31)], TEXT, bert(64), truncate=True)
    assert prepared.truncated == 1
    assert prepared.lengths.tolist() == [3, 64, 64]
    assert prepared.segments[0].row_lengths().numpy().tolist() == [1, 62, 62]


def test_of_a_pair_the_longer_is_cut(bert):
    prepared = prepare([(words(3, "a"), words(40, "b"))], PAIR, bert(), 12, truncate=True)
    assert [s.row_lengths().numpy().tolist() for s in prepared.segments] == [[3], [6]]
    assert (prepared.truncated, prepared.lengths.tolist()) == (1, [12])


def test_elmo_pairs_have_a_limit_each(elmo):
    records = [(words(5), words(9))]
    assert prepare(records, PAIR, elmo(), max_length=9).truncated == 0
    cut = prepare(records, PAIR, elmo(), max_length=7, truncate=True)
    assert [s.row_lengths().numpy().tolist() for s in cut.segments] == [[5], [7]]
    assert cut.truncated == 1


@pytest.mark.parametrize("length", [0, -1, 3, 65])
def test_an_impossible_length_is_refused(bert, length):
    with pytest.raises(ConfigError, match="max_length: expected at least 4 and at most 64"):
        prepare(["a"], TEXT, bert(64), max_length=length)


def test_elmo_may_read_more_words_than_its_default_limit(elmo):
    with pytest.raises(DataError, match="expected at most 1000 tokens"):
        prepare([words(1001)], TEXT, elmo())
    assert prepare([words(1001)], TEXT, elmo(), max_length=2000).lengths.tolist() == [1001]
    with pytest.raises(ConfigError, match="max_length: expected at least 1 and at most 1000000"):
        prepare(["a"], TEXT, elmo(), max_length=0)


def test_d9_a_sentence_of_10_000_words_is_split_and_put_together_again(bert, elmo):
    sentences = [
        TaggedSentence(("a",), ("B-PER",), "f:1"),
        TaggedSentence(("ab", "c") * 5000, ("O", "B-PER") * 5000, "f:3"),
        TaggedSentence(("d", "e"), ("B-PER", "I-PER"), "f:10004"),
    ]
    tags = [tag for sentence in sentences for tag in sentence.tags]
    for encoder in (bert(64), elmo(64)):
        prepared = prepare(sentences, TAGS, encoder)
        assert prepared.lengths.max() <= 64
        assert prepared.truncated == 0
        assert prepared.sentence_splits.tolist() == [0, 1, 10_001, 10_003]
        assert [TAGS.labels[i] for i in prepared.targets.values.numpy()] == tags
        np.testing.assert_array_equal(
            prepared.targets.row_lengths(), prepared.segments[0].row_lengths()
        )
        restored = tf.RaggedTensor.from_row_splits(
            prepared.targets.values, prepared.sentence_splits
        )
        assert restored.row_lengths().numpy().tolist() == [1, 10_000, 2]


def test_context_changes_the_lengths_of_rows_and_nothing_else(bert):
    sentences = [
        TaggedSentence(("a", "b" * 70), ("O", "B-PER"), "f:1"),
        TaggedSentence(("ab", "c") * 20, ("O", "B-PER") * 20, "f:4"),
        TaggedSentence(("d",), ("O",), "f:45", document=1),
    ]
    plain = prepare(sentences, TAGS, bert(), max_length=32, truncate=True)
    prepared = prepare(sentences, TAGS, bert(), max_length=32, truncate=True, document_context=True)
    # Pieces: 1 + 30 (cut from 70); 60 in parts of 29, 30 and 1; a document of 1.
    assert plain.lengths.tolist() == [3, 32, 31, 32, 3, 3]
    assert prepared.lengths.tolist() == [32] * 5 + [3]
    assert plain.windows is None
    assert prepared.windows.shape == (6, 2)
    for one, other in zip(plain.segments, prepared.segments, strict=True):
        assert one.to_list() == other.to_list()
    assert plain.targets.to_list() == prepared.targets.to_list()
    np.testing.assert_array_equal(plain.sentence_splits, prepared.sentence_splits)
    np.testing.assert_array_equal(plain.uncut_lengths, prepared.uncut_lengths)
    assert plain.truncated == prepared.truncated == 1


def test_d9_one_word_longer_than_the_limit(bert):
    sentences = [TaggedSentence(("a", "b" * 70, "c"), ("O", "B-PER", "O"), "f:5")]
    message = "f:6: expected at most 20 tokens .* got one word of 72 .* set truncate: true"
    with pytest.raises(DataError, match=message):
        prepare(sentences, TAGS, bert(), max_length=20)
    prepared = prepare(sentences, TAGS, bert(), max_length=20, truncate=True)
    assert prepared.truncated == 1
    assert prepared.lengths.max() <= 20
    # The cut word is still there, with its label.
    assert prepared.targets.values.numpy().tolist() == [0, 1, 0]
    assert prepared.segments[0].values.row_lengths().numpy().tolist() == [1, 18, 1]


@pytest.mark.parametrize("length", [1001, 10_000])
def test_d9_a_word_of_very_many_characters(bert, elmo, length):
    word = "x" * length
    for encoder in (bert(), elmo()):
        with pytest.raises(DataError, match=f"f:2: expected words of at most 1000 .* {length}"):
            prepare([TaggedSentence(("a", word), where="f:1")], TAGS, encoder)
        with pytest.raises(DataError, match=f"f:9: expected words of at most 1000 .* {length}"):
            prepare([Record(f"a {word} b", where="f:9")], TEXT, encoder)
        tagged = prepare([(["a", word], ["O", "B-PER"])], TAGS, encoder, truncate=True)
        assert tagged.truncated == 1
        assert tagged.targets.to_list() == [[0, 1]]
        assert prepare([f"a {word} b"], TEXT, encoder, truncate=True).truncated == 1


def test_text_without_blanks_is_not_one_word_to_bert(bert):
    assert prepare(["日本語" * 600], TEXT, bert(2000)).truncated == 0
    assert prepare(["!" * 1500], TEXT, bert(2000)).truncated == 0


@pytest.mark.parametrize("text", ["a\0b", "\0", "", "  \t", "\ud800"])
def test_texts_that_no_encoder_can_read(bert, elmo, text):
    for encoder in (bert(), elmo()):
        with pytest.raises(DataError, match="^f:4: "):
            prepare([Record("a", where="f:3"), Record(text, where="f:4")], TEXT, encoder)
        with pytest.raises(DataError, match="^f:4: "):
            prepare([Record("a", text, where="f:4")], PAIR, encoder)
        with pytest.raises(DataError, match="^f:4: "):
            prepare([TaggedSentence(("a", text), where="f:3")], TAGS, encoder)


def test_d3_strange_words_are_words(bert, elmo):
    strange = ("\u3000", "\u200b", "a\u00a0b", "c\u2028d\x85", "\x0ba\x1c", "\ufeff")
    for encoder in (bert(), elmo()):
        prepared = prepare([TaggedSentence(strange, ("O",) * len(strange))], TAGS, encoder)
        assert prepared.segments[0].row_lengths().numpy().tolist() == [len(strange)]
        assert (prepared.segments[0].values.row_lengths().numpy() >= 1).all()


@pytest.mark.parametrize(
    ("task", "records", "message"),
    [
        (TEXT, [("a", "no"), ("b", "maybe")], "'maybe', first at example 2, 1 in all"),
        (TEXT, [("a", -1)], "-1, first at example 1"),
        (TEXT, [("a", 2)], "2, first at example 1"),
        (TEXT, [("a", True)], "True, first at example 1"),
        (TEXT, [("a", "no"), "b"], "example 2: expected a label, got none"),
        (PAIR, [("a", "b", 2)], "2, first at example 1"),
        (SCORE, [("a", "b", float("nan"))], "example 1: expected a finite number"),
        (SCORE, [("a", "b", 1e39)], "example 1: expected a finite number"),
        (SCORE, [("a", "b", 6)], "example 1: expected a label from 0 to 5, got 6"),
        (SCORE, [("a", "b", "high")], "example 1: expected a number"),
        (TAGS, [(["a"], ["B-LOC"])], "'B-LOC', first at example 1"),
        (TAGS, [(["a"], [3])], "3, first at example 1"),
        (TAGS, [(["a"], ["O"]), ["b"]], "example 2: expected a tag for each word"),
    ],
)
def test_d12_wrong_labels_are_refused_before_any_device_sees_them(bert, task, records, message):
    with pytest.raises(DataError, match=message):
        prepare(records, task, bert())


def test_labels_may_be_ids(bert):
    ids = np.array([1, 0])
    assert prepare(list(zip("ab", ids, strict=True)), TEXT, bert()).targets.numpy().tolist() == [
        1,
        0,
    ]
    tagged = prepare([(["a", "b"], [1, 2])], TAGS, bert())
    assert tagged.targets.to_list() == [[1, 2]]


def test_data_without_labels(bert):
    assert prepare(["a", "b"], TEXT, bert()).targets is None
    assert prepare([["a", "b"]], TAGS, bert()).targets is None
