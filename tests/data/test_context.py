"""Sentences read with their neighbours: which pieces, where the own words stand, real documents."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.preprocess import split_words
from tf_adapt.data.batches import batches, batches_from, prepare
from tf_adapt.data.datasets import dataset_labels, load_dataset
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.in_memory.records import in_memory_records
from tf_adapt.data.packing.context import context_windows, pack_windows
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.task import Task

TAGS = Task("tagging", labels=["O", "B-PER", "I-PER"])


def document(text: str, number: int = 0) -> list[TaggedSentence]:
    """The sentences of `a b | c`."""
    return [TaggedSentence(tuple(part.split()), document=number) for part in text.split("|")]


def one_batch(records, encoder, max_length=None) -> dict:
    dataset = batches(
        records, TAGS, encoder, 1000, shuffle=False, max_length=max_length, document_context=True
    )
    (inputs,) = list(dataset)
    return inputs["a"]


def places(inputs: dict) -> list[list[int]]:
    return [[place for place in row if place >= 0] for row in inputs["first_piece"].numpy()]


# Every letter is a piece; `[CLS]` and `[SEP]` take two of the limit.
PENCIL = {
    "four sentences of a document": (
        8,
        "a b c | d e | f g h i | j",
        ["a b c d e f", "b c d e f g", "e f g h i j", "e f g h i j"],
        [[1, 2, 3], [3, 4], [2, 3, 4, 5], [6]],
    ),
    "one piece of context goes to the right": (
        7,
        "a b c | d e | f g h i | j",
        ["a b c d e", "c d e f g", "f g h i j", "f g h i j"],
        [[1, 2, 3], [2, 3], [1, 2, 3, 4], [5]],
    ),
    "no room at all": (5, "a b c | d e f", ["a b c", "d e f"], [[1, 2, 3], [1, 2, 3]]),
    "everything fits": (
        64,
        "a b | cd | e",
        ["a b cd e", "a b cd e", "a b cd e"],
        [[1, 2], [3], [5]],
    ),
    "cut between pieces": (
        6,
        "ab | cd | ef",
        ["ab cd", "##b cd e", "cd ef"],
        [[1], [2], [3]],
    ),
    "a sentence alone, longer than the limit": (
        6,
        "a b c d e f g h i",
        ["a b c d", "e f g h", "f g h i"],
        [[1, 2, 3, 4], [1, 2, 3, 4], [4]],
    ),
    "the last part of a long sentence sees the next one": (
        6,
        "a b c d e | f g",
        ["a b c d", "d e f g", "d e f g"],
        [[1, 2, 3, 4], [2], [3, 4]],
    ),
}


@pytest.mark.parametrize(("limit", "text", "rows", "first"), PENCIL.values(), ids=PENCIL)
def test_windows_by_pencil(bert, texts_of, limit, text, rows, first):
    inputs = one_batch(document(text), bert(64), limit)
    assert texts_of(inputs) == rows
    assert places(inputs) == first


def test_documents_never_mix(bert, texts_of):
    records = [*document("a b | c"), *document("d | e f", 1), *document("g"), *document("h", 7)]
    expected = ["a b c", "a b c", "d e f", "d e f", "g", "h"]
    assert texts_of(one_batch(records, bert())) == expected


def test_sentences_in_memory_are_documents_of_their_own(bert, texts_of):
    assert texts_of(one_batch([["a", "b"], ["c"], ["d"]], bert())) == ["a b", "c", "d"]
    mixed = [["a"], *document("b | c", 2), ["d"], *document("e")]
    assert [record.document for record in in_memory_records(mixed, TAGS)] == [-1, 2, 2, -4, 0]
    assert texts_of(one_batch(mixed, bert())) == ["a", "b c", "b c", "d", "e"]


@pytest.mark.parametrize(
    ("kind", "family"),
    [("classification", "bert"), ("tagging", "elmo"), ("classification", "elmo")],
)
def test_context_is_for_tagging_with_bert(bert, elmo, kind, family):
    encoder = {"bert": bert, "elmo": elmo}[family]()
    message = f"document_context: expected kind tagging .* got kind {kind} and the family {family}"
    with pytest.raises(ConfigError, match=message):
        prepare(["a"], Task(kind, labels=["O", "B-PER"]), encoder, document_context=True)


def random_documents(seed: int, count: int) -> list[TaggedSentence]:
    random = np.random.default_rng(seed)

    def word() -> str:
        return "".join(random.choice(list("abcdefgh"), random.integers(1, 4)))

    return [
        TaggedSentence(
            tuple(word() for _ in range(random.integers(1, 25))), document=int(random.integers(3))
        )
        for _ in range(count)
    ]


def expected_windows(parts: list[str], documents: list[int], budget: int) -> list[str]:
    """The text of each window, found by trying: as full as can be, the left side nearest to half.

    A word has as many pieces as letters, so that a sentence or a part of one is a string.
    """
    windows = []
    for _, group in itertools.groupby(zip(documents, parts, strict=True), lambda pair: pair[0]):
        own = [part for _, part in group]
        text, start = "".join(own), 0
        full = min(budget, len(text))
        for part in own:
            possible = range(max(0, start + len(part) - full), min(start, len(text) - full) + 1)
            half = start - (budget - len(part)) // 2
            begin = min(possible, key=lambda place: abs(place - half))
            windows.append(text[begin : begin + full])
            start += len(part)
    return windows


@pytest.mark.parametrize("limit", [9, 30])
def test_windows_by_brute_force_and_the_own_pieces_are_those_without_context(bert, texts_of, limit):
    sentences = random_documents(limit, 60)
    plain = prepare(sentences, TAGS, bert(), limit)
    prepared = prepare(sentences, TAGS, bert(), limit, document_context=True)
    splits = plain.segments[0].row_splits.numpy()
    words = [word for sentence in sentences for word in sentence.words]
    parts = ["".join(words[start:end]) for start, end in itertools.pairwise(splits)]
    sentence_of_part = np.searchsorted(plain.sentence_splits, splits[:-1], side="right") - 1
    documents = [sentences[number].document for number in sentence_of_part]
    assert len(parts) > len(sentences)

    rows = []
    for one, other in zip(
        batches_from(prepared, 7, shuffle=False), batches_from(plain, 7, shuffle=False), strict=True
    ):
        ids, plain_ids = (inputs["a"]["input_word_ids"].numpy() for inputs in (one, other))
        for row, (own, alone) in enumerate(zip(places(one["a"]), places(other["a"]), strict=True)):
            count, moved = len(parts[len(rows) + row]), own[0] - 1
            assert own == [place + moved for place in alone]
            np.testing.assert_array_equal(
                ids[row, own[0] : own[0] + count], plain_ids[row, 1 : 1 + count]
            )
        rows += [text.replace("##", "").replace(" ", "") for text in texts_of(one["a"])]
    assert rows == expected_windows(parts, documents, limit - 2)


def test_in_a_function_with_sentences_of_no_words_as_a_served_model_meets_them(bert, texts_of):
    preprocessor = bert().preprocessor

    def pack(words):
        chunks = split_words(preprocessor.tokenize_words(words), 4)
        windows = context_windows(chunks, words.row_splits, 4)
        return pack_windows(preprocessor, chunks, windows, tf.range(chunks.nrows()))

    words = tf.ragged.constant([["a", "b", "c", "d", "e"], [], ["fg", "h"], []])
    eager = pack(words)
    traced = tf.function(pack, input_signature=[tf.RaggedTensorSpec([None, None], tf.string)])
    for name, value in traced(words).items():
        np.testing.assert_array_equal(value, eager[name])
    assert places(eager) == [[1, 2, 3, 4], [4], [], [1, 3], []]
    rows = texts_of(eager)
    assert [rows[0], rows[1], rows[3]] == ["a b c d", "b c d e", "fg h"]
    nobody = traced(tf.RaggedTensor.from_row_lengths(tf.constant([], tf.string), []))
    assert nobody["input_word_ids"].shape == (0, 2)
    assert nobody["first_piece"].shape[0] == 0


def test_real_documents_fill_every_row(shared):
    encoder = HubEncoder("bert_small", trainable=False)
    sentences = load_dataset("conll2003", "dev", data_dir=shared / "data" / "conll2003")
    task = Task("tagging", labels=dataset_labels("conll2003"))
    limit = 128
    prepared = prepare(sentences, task, encoder, limit, document_context=True)

    words = [word for sentence in sentences for word in sentence.words]
    units = encoder.preprocessor.tokenize(tf.constant(words))
    ends = np.cumsum([len(sentence.words) for sentence in sentences])
    per_sentence = np.add.reduceat(units.row_lengths().numpy(), [0, *ends[:-1]])
    documents = np.array([sentence.document for sentence in sentences])
    assert len(set(documents)) == 216
    of_document = np.bincount(documents, weights=per_sentence).astype(int)
    chunk_words = prepared.segments[0].row_splits.numpy()[:-1]
    document_of_chunk = documents[np.searchsorted(ends, chunk_words, side="right")]
    expected = np.minimum(limit, of_document[document_of_chunk] + 2)
    np.testing.assert_array_equal(prepared.lengths, expected)

    found, lengths = [], []
    for inputs, targets in batches_from(prepared, 256, shuffle=False):
        packed = {name: value.numpy() for name, value in inputs["a"].items()}
        lengths += packed["input_mask"].sum(axis=1).tolist()
        is_word = packed["first_piece"] >= 0
        np.testing.assert_array_equal(is_word, targets.numpy() >= 0)
        for ids, row in zip(packed["input_word_ids"], packed["first_piece"], strict=True):
            own = row[row >= 0]
            assert (np.diff(own) > 0).all()
            found += ids[own].tolist()
    assert lengths == expected.tolist()
    # Every word once, in order, by the piece that it begins with.
    assert found == tf.gather(units.values, units.row_starts()).numpy().tolist()
