"""Unlabelled texts beside labelled ones: the order, and the texts that take their place."""

import numpy as np
import pytest

import tf_adapt as ta
from tf_adapt.data.consistency_batches import (
    PERTURBED,
    UNLABELLED,
    WORDS,
    epoch_with_unlabelled,
    prepared_unlabelled,
    unlabelled_order,
)
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.errors import ConfigError, DataError

TASK = ta.Task("classification", labels=["no", "yes"])
RECORDS = [("a good film", "yes"), ("b", "no"), ("what is the time", "yes"), ("the man", "no")]
MORE = ["who is the man", "the man is", "is it", "what a day it is", "a b", "c d e", "the"]


@pytest.fixture(scope="module")
def encoder(tiny_bert):
    return ta.HubEncoder(tiny_bert)


def ids(inputs):
    return [row[row > 0].tolist() for row in inputs["a"]["input_word_ids"].numpy()]


def test_every_text_comes_once_before_any_comes_again():
    lengths, sizes, drawn = np.arange(23) % 7, [4, 1, 4, 4], []
    for epoch in range(8):
        drawn += _flat(lengths, sizes, epoch)
        counts = np.bincount(drawn, minlength=23)
        assert counts.max() - counts.min() <= 1
    assert len(drawn) == 8 * 13


def _flat(lengths, sizes, epoch, seed=5):
    order = unlabelled_order(lengths, sizes, seed, epoch)
    assert [len(part) for part in order] == sizes
    return np.concatenate(order).tolist()


def test_the_order_is_a_function_of_seed_and_epoch():
    lengths, sizes = np.arange(50) % 9, [8, 8, 3]
    assert _flat(lengths, sizes, 3) == _flat(lengths, sizes, 3)
    assert _flat(lengths, sizes, 3) != _flat(lengths, sizes, 4)
    assert _flat(lengths, sizes, 3) != _flat(lengths, sizes, 3, seed=6)


def test_batches_hold_similar_lengths():
    lengths = np.random.default_rng(0).integers(1, 100, 400)
    order = unlabelled_order(lengths, [16] * 25, 0, 0)
    spread = np.mean([np.ptp(lengths[part]) for part in order])
    assert spread < 8 and len({tuple(sorted(part)) for part in order}) == 25


def test_fewer_texts_than_labelled_examples():
    drawn = _flat(np.array([1, 2, 3]), [4, 4], 0)
    assert sorted(np.bincount(drawn)) == [2, 3, 3]


@pytest.mark.parametrize("perturbation", ["dropout", "words"])
def test_as_many_unlabelled_rows_and_the_same_labelled_ones(encoder, perturbation):
    made = ta.consistency_batches(
        RECORDS, MORE, TASK, encoder, batch_size=3, perturbation=perturbation
    )
    alone = ta.batches(RECORDS, TASK, encoder, batch_size=3)
    known = [row for rows in ta.batches(MORE, TASK, encoder, shuffle=False) for row in ids(rows)]
    seen = []
    assert len(made) == 2
    for (inputs, targets), (own, expected) in zip(made, alone, strict=True):
        assert ids(inputs) == ids(own)
        np.testing.assert_array_equal(targets, expected)
        assert len(ids(inputs[UNLABELLED])) == len(targets)
        assert (PERTURBED in inputs) == (perturbation == "words")
        seen += ids(inputs[UNLABELLED])
    assert len(seen) == 4 and all(row in known for row in seen)
    # The second pass goes on where the first stopped.
    seen += [row for inputs, _ in made for row in ids(inputs[UNLABELLED])]
    assert {tuple(row) for row in seen} == {tuple(row) for row in known}


@pytest.mark.slow
def test_changed_words_depend_on_seed_epoch_and_step(encoder):
    train = prepare(RECORDS, TASK, encoder)
    more = prepared_unlabelled([f"{one} of the man" for one in MORE], TASK, encoder, rate=0.6)

    def rows(seed, epoch, skip=0):
        found = epoch_with_unlabelled(train, more, 1, seed, epoch, skip)
        return [(ids(x[UNLABELLED])[0], ids(x[PERTURBED])[0]) for x, _ in found]

    whole = rows(0, 1)
    assert rows(0, 1) == whole and rows(0, 1, skip=2) == whole[2:]
    assert any(text != other for text, other in whole)
    assert all(set(other) <= set(text) for text, other in whole)
    assert rows(1, 1) != whole and rows(0, 3) != whole


def test_changed_words_are_cut_as_the_texts_are(encoder):
    limits = (6, True, False)
    more = prepared_unlabelled(["the man is what it is"] * 4, TASK, encoder, limits, rate=0.01)
    train = prepare(RECORDS, TASK, encoder)
    inputs, _ = next(iter(epoch_with_unlabelled(train, more, 4, 0, 0)))
    assert inputs[PERTURBED]["a"]["input_word_ids"].shape[1] == 6


def test_paraphrases_take_the_places_of_their_texts(encoder, tmp_path):
    path = tmp_path / "paraphrases.tsv"
    path.write_text("text\tparaphrase\n" + "".join(f"{one}\tthe {one}\n" for one in MORE), "utf-8")
    given = (RECORDS, MORE, TASK, encoder)
    made = ta.consistency_batches(*given, perturbation="paraphrases", paraphrases=path)
    inputs, _ = next(iter(made))
    the = encoder.preprocessor.tokenize(["the"]).numpy()[0][0]
    for text, other in zip(ids(inputs[UNLABELLED]), ids(inputs[PERTURBED]), strict=True):
        assert other == [text[0], the, *text[1:]]


def test_words_that_are_real(encoder):
    task = ta.Task("tagging", labels=["O", "B-A", "I-A"])
    records = [(text.split(), ["O"] * len(text.split())) for text, _ in RECORDS]
    made = ta.consistency_batches(records, [one.split() for one in MORE], task, encoder)
    inputs, _ = next(iter(made))
    np.testing.assert_array_equal(inputs[WORDS], inputs[UNLABELLED]["a"]["first_piece"] >= 0)


def test_what_is_refused(encoder):
    with pytest.raises(DataError, match="expected unlabelled texts, got one with a label"):
        ta.consistency_batches(RECORDS, RECORDS, TASK, encoder)
    with pytest.raises(ConfigError, match="batch_size: expected at least 1, got 0"):
        ta.consistency_batches(RECORDS, MORE, TASK, encoder, batch_size=0)
    for given, message in (
        ({"perturbation": "wordz"}, "perturbation: expected one of dropout, .*did you mean words?"),
        ({"perturbation": "words", "rate": 3}, "rate: expected a number between 0 and 1, got 3"),
        ({"perturbation": "words", "rate": "a"}, "rate: expected a number .*, got 'a'"),
        ({"perturbation": "paraphrases"}, "paraphrases: expected a file .*, got None with paraph"),
        ({"paraphrases": "a.tsv"}, "None with another, got 'a.tsv' with dropout"),
    ):
        with pytest.raises(ConfigError, match=message):
            ta.consistency_batches(RECORDS, MORE, TASK, encoder, **given)
    with pytest.raises(DataError, match="expected at most 4 tokens"):
        ta.consistency_batches(RECORDS[1:2], MORE, TASK, encoder, max_length=4)
