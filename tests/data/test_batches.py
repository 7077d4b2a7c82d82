"""The order of examples as a pure function of (seed, epoch), and what a batch holds."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from hub_modules.preprocess import BertPreprocessor
from tf_adapt.data import batches as batches_module
from tf_adapt.data.batches import (
    WINDOW_BATCHES,
    batches,
    batches_from,
    epoch_batches,
    epoch_order,
    prepare,
    sorted_batches,
)
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.task import Task

TEXT = Task("classification", labels=["no", "yes"])
PAIR = Task("pair_classification", labels=["no", "yes"])
TAGS = Task("tagging", labels=["O", "B-PER", "I-PER"])


def word_of(number: int) -> str:
    """A distinct word for each number; longer for some than for others."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number)) * (number % 5 + 1)


def examples(count: int) -> list[tuple[str, int]]:
    return [(word_of(number), number % 2) for number in range(count)]


def read(dataset, texts_of) -> list[list[str]]:
    return [texts_of(inputs["a"]) for inputs, _ in dataset]


@pytest.mark.parametrize(("count", "batch_size"), [(1, 1), (1, 32), (7, 3), (333, 2), (500, 32)])
def test_order_holds_every_example_once_in_full_batches(count, batch_size):
    lengths = np.random.default_rng(count).integers(3, 60, count)
    for epoch in (0, 1, 7):
        order = epoch_order(lengths, batch_size, seed=5, epoch=epoch)
        np.testing.assert_array_equal(np.sort(np.concatenate(order)), np.arange(count))
        sizes = sorted(len(batch) for batch in order)
        assert sizes[1:] == [batch_size] * (len(order) - 1)
        assert 0 < sizes[0] <= batch_size


def test_order_is_pure_in_seed_and_epoch():
    lengths = np.random.default_rng(0).integers(3, 60, 200)
    orders = {}
    for seed in (0, 1):
        for epoch in (0, 1):
            one, other = [np.concatenate(epoch_order(lengths, 8, seed, epoch)) for _ in range(2)]
            np.testing.assert_array_equal(one, other)
            orders[seed, epoch] = tuple(one)
    assert len(set(orders.values())) == 4


def test_a_batch_holds_similar_lengths_and_batches_change():
    lengths = np.random.default_rng(0).integers(1, 100, 3200)
    order = epoch_order(lengths, 32, seed=0, epoch=0)
    spread = np.mean([np.ptp(lengths[batch]) for batch in order])
    assert spread < 100 / WINDOW_BATCHES * 1.5
    partners = [
        {frozenset(batch.tolist()) for batch in epoch_order(lengths, 32, 0, epoch)}
        for epoch in (0, 1)
    ]
    assert not partners[0] & partners[1]
    # The batches are not in the order of their lengths.
    means = [lengths[batch].mean() for batch in order[:WINDOW_BATCHES]]
    assert np.corrcoef(means, np.arange(len(means)))[0, 1] < 0.5


def test_every_record_once_an_epoch_with_its_label(bert, texts_of):
    data = examples(50)
    dataset = batches(data, TEXT, bert(), batch_size=8)
    for _ in range(2):
        seen = [
            (text, int(label))
            for inputs, labels in dataset
            for text, label in zip(texts_of(inputs["a"]), labels, strict=True)
        ]
        assert sorted(seen) == sorted(data)


def test_iterations_are_epochs_and_a_resumed_one_goes_on(bert, texts_of):
    prepared = prepare(examples(50), TEXT, bert())
    dataset = batches_from(prepared, 8, seed=3)
    epochs = [read(dataset, texts_of) for _ in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    resumed = batches_from(prepared, 8, seed=3, first_epoch=1, skip=4)
    assert read(resumed, texts_of) == epochs[1][4:]
    assert read(resumed, texts_of) == epochs[2]
    other = batches_from(prepared, 8, seed=4)
    assert read(other, texts_of) != epochs[0]


def test_one_epoch_as_often_as_one_likes(bert, texts_of):
    prepared = prepare(examples(50), TEXT, bert())
    dataset = batches_from(prepared, 8, seed=3)
    epochs = [read(dataset, texts_of) for _ in range(2)]
    one = epoch_batches(prepared, 8, seed=3, epoch=1, skip=2)
    assert int(one.cardinality()) == 5
    assert read(one, texts_of) == read(one, texts_of) == epochs[1][2:]
    in_order = epoch_batches(prepared, 8, seed=3, epoch=1, shuffle=False)
    assert sum(read(in_order, texts_of), []) == [text for text, _ in examples(50)]


def test_without_shuffling_the_order_is_that_of_the_records(bert, texts_of):
    data = examples(20)
    dataset = batches(data, TEXT, bert(), batch_size=8, shuffle=False)
    for _ in range(2):
        assert [text for batch in read(dataset, texts_of) for text in batch] == [t for t, _ in data]


def test_sorted_batches_say_which_examples_they_hold(bert, texts_of):
    records = examples(23)
    prepared = prepare(records, TEXT, bert())
    dataset, order = sorted_batches(prepared, 5)
    expected = [[records[example][0] for example in batch] for batch in order]
    assert read(dataset, texts_of) == expected == read(dataset, texts_of)
    assert sorted(np.concatenate(order)) == list(range(23))
    assert np.all(np.diff(prepared.lengths[np.concatenate(order)]) >= 0)
    assert [len(batch) for batch in order] == [5, 5, 5, 5, 3] and len(dataset) == 5
    with pytest.raises(ConfigError, match="batch_size"):
        sorted_batches(prepared, 0)


def test_padding_goes_to_the_longest_of_the_batch_only(bert):
    prepared = prepare(examples(300), TEXT, bert())
    for (inputs, _), order in zip(
        epoch_batches(prepared, 16, 0, 0), epoch_order(prepared.lengths, 16, 0, 0), strict=True
    ):
        longest = prepared.lengths[order].max()
        for value in inputs["a"].values():
            assert value.shape == (len(order), longest)
        np.testing.assert_array_equal(
            inputs["a"]["input_mask"].numpy().sum(axis=1), prepared.lengths[order]
        )


def test_a_batch_larger_than_the_data(bert):
    dataset = batches(examples(3), TEXT, bert(), batch_size=32)
    assert int(dataset.cardinality()) == 1
    ((inputs, labels),) = list(dataset)
    assert inputs["a"]["input_word_ids"].shape[0] == labels.shape[0] == 3


def test_an_impossible_batch_size_is_refused(bert):
    prepared = prepare(["a"], TEXT, bert())
    with pytest.raises(ConfigError, match="batch_size: expected at least 1, got 0"):
        epoch_batches(prepared, 0, seed=0, epoch=0)
    with pytest.raises(ConfigError, match="batch_size: expected at least 1, got -1"):
        batches_from(prepared, -1)


def test_cardinality_is_known_except_for_a_skip(bert):
    prepared = prepare(examples(50), TEXT, bert())
    assert int(batches_from(prepared, 8).cardinality()) == 7
    skipping = batches_from(prepared, 8, skip=3)
    assert int(skipping.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert len(list(skipping)) == 4


def test_the_end_of_a_pass_waits_for_no_tuner(bert):
    data = prepare(examples(10), TEXT, bert())
    for dataset in (
        batches(examples(10), TEXT, bert()),
        epoch_batches(data, 2, seed=0, epoch=0),
        sorted_batches(data, 2)[0],
    ):
        assert dataset.options().autotune.enabled is False


def test_without_labels_only_inputs(bert):
    (inputs,) = list(batches(["a", "b c"], TEXT, bert()))
    assert set(inputs) == {"a"}


def test_pairs_read_apart(elmo):
    dataset = batches([("a b c", "d", 1), ("e", "f g", 0)], PAIR, elmo(), shuffle=False)
    ((inputs, labels),) = list(dataset)
    assert inputs["a"]["character_ids"].shape == (2, 3, 50)
    assert inputs["b"]["character_ids"].shape == (2, 2, 50)
    assert labels.numpy().tolist() == [1, 0]


def test_tags_are_padded_like_the_words(bert, elmo):
    data = [(["ab", "c"], ["B-PER", "I-PER"]), (["d"], ["O"])]
    for encoder in (bert(), elmo()):
        ((inputs, tags),) = list(batches(data, TAGS, encoder, shuffle=False))
        assert tags.numpy().tolist() == [[1, 2], [0, -1]]
        if encoder.family == "bert":
            np.testing.assert_array_equal(inputs["a"]["first_piece"], [[1, 3], [1, -1]])
        else:
            assert inputs["a"]["character_ids"].shape == (2, 2, 50)


def test_batches_with_document_context(bert):
    data = [
        TaggedSentence((word_of(number), "z"), ("B-PER", "O"), document=number // 7)
        for number in range(50)
    ]
    prepared = prepare(data, TAGS, bert(), max_length=16, document_context=True)
    dataset = epoch_batches(prepared, 8, seed=0, epoch=0)
    assert dataset.element_spec[0]["a"]["first_piece"].shape.rank == 2
    order = epoch_order(prepared.lengths, 8, seed=0, epoch=0)
    for (inputs, tags), index in zip(dataset, order, strict=True):
        real = inputs["a"]["input_mask"].numpy().sum(axis=1)
        np.testing.assert_array_equal(real, prepared.lengths[index])
        assert inputs["a"]["input_word_ids"].shape[1] == real.max()
        assert tags.numpy().tolist() == [[1, 0]] * len(index)
    mapped = batches(data, TAGS, bert(), 8, max_length=16, document_context=True)
    for (one, _), (other, _) in zip(mapped, dataset, strict=True):
        np.testing.assert_array_equal(one["a"]["first_piece"], other["a"]["first_piece"])


@pytest.mark.parametrize("task", [TEXT, PAIR, TAGS])
def test_types_and_ranks_are_known_before_the_first_batch(bert, elmo, task):
    row = {
        "classification": ("a", 1),
        "pair_classification": ("a", "b", 1),
        "tagging": (["a"], [1]),
    }
    for encoder in (bert(), elmo()):
        spec = batches([row[task.kind]] * 3, task, encoder).element_spec
        for leaf in tf.nest.flatten(spec):
            assert leaf.dtype == tf.int32
            assert leaf.shape.rank is not None
        inputs, targets = spec
        assert targets.shape.rank == (2 if task.kind == "tagging" else 1)
        if encoder.family == "elmo":
            assert inputs["a"]["character_ids"].shape[2] == 50


class BagOfPieces(keras.Model):
    """A model that reads what `batches` yields."""

    def __init__(self):
        super().__init__()
        self.embed = keras.layers.Embedding(100, 2)

    def call(self, inputs):
        return keras.ops.mean(self.embed(inputs["a"]["input_word_ids"]), axis=1)


def test_fit_sees_the_epochs_one_after_the_other(bert, monkeypatch):
    begun = []

    def recorded(lengths, batch_size, seed, epoch):
        begun.append(epoch)
        return epoch_order(lengths, batch_size, seed, epoch)

    monkeypatch.setattr(batches_module, "epoch_order", recorded)
    model = BagOfPieces()
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    steps = []
    counter = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: steps.append(batch)
    )
    dataset = batches(examples(50), TEXT, bert(), batch_size=8)
    model.fit(dataset, epochs=3, verbose=0, shuffle=False, callbacks=[counter])
    assert begun == [0, 1, 2]
    assert steps == [*range(7)] * 3
    assert model.predict(batches(["a", "b"], TEXT, bert()), verbose=0).shape == (2, 2)


def test_bucketing_saves_padding_on_real_sentences(shared, record_property):
    lines = (shared / "data" / "sst2" / "train.tsv").read_bytes().decode("utf-8").split("\n")[1:]
    vocabulary = (shared / "models" / "minilm_l6_h384" / "vocab.txt").read_bytes().decode("utf-8")
    preprocessor = BertPreprocessor(vocabulary.removesuffix("\n").split("\n"), lower_case=True)
    encoder = SimpleNamespace(
        preprocessor=preprocessor,
        family="bert",
        most_positions=512,
        joint_pairs=True,
        max_length=512,
    )
    prepared = prepare([line.split("\t")[0] for line in lines if line], TEXT, encoder)

    def padding(order) -> float:
        real = sum(int(prepared.lengths[batch].sum()) for batch in order)
        return 1 - real / sum(int(prepared.lengths[batch].max()) * len(batch) for batch in order)

    bucketed = padding(epoch_order(prepared.lengths, 32, 0, 0))
    permuted = np.random.default_rng(0).permutation(len(prepared.lengths))
    shuffled = padding([permuted[i : i + 32] for i in range(0, len(permuted), 32)])
    record_property("padding", {"bucketed": bucketed, "shuffled": shuffled})
    print(f"padding: {bucketed:.1%} with bucketing, {shuffled:.1%} with plain shuffling")
    assert bucketed < shuffled / 5
