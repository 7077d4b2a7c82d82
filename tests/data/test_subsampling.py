"""Parts of train: nested, of a seed, of whole documents where those are marked."""

from collections import Counter

import pytest

from tf_adapt.config.data_sections import FilesConfig, LeaveOutConfig
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.data.splits.subsampling import missing_labels, part_of, without_part
from tf_adapt.errors import ConfigError


def texts(number, labels="ab"):
    return [
        Record(f"text {n}", None, labels[n % len(labels)], f"f:{n}", None) for n in range(number)
    ]


def sentences(sizes):
    return [
        TaggedSentence((f"w{document}.{n}",), ("O",), f"f:{n}", document)
        for document, size in enumerate(sizes)
        for n in range(size)
    ]


@pytest.mark.parametrize("examples", [texts(40), sentences([40]), sentences([3, 9, 1, 20, 7])])
def test_parts_of_a_seed_are_nested_and_in_order(examples):
    places = {}
    for seed in range(5):
        of_seed = []
        for count in (1, 7, 23, 40, 99):
            part = part_of(examples, count, seed)
            assert part == part_of(examples, count, seed)
            assert len(part) == min(count, 40)
            of_seed.append([examples.index(example) for example in part])
            assert of_seed[-1] == sorted(of_seed[-1])
        assert all(
            set(small) <= set(large) for small, large in zip(of_seed, of_seed[1:], strict=False)
        )
        places[seed] = of_seed[2]
    assert len(set(map(tuple, places.values()))) > 2


def test_each_example_is_as_likely_as_any():
    """Of 400 seeds, each of 20 examples is in about 400 · 5 / 20 = 100 parts; σ is 8.7."""
    examples = texts(20)
    counts = Counter(one.text_a for seed in range(400) for one in part_of(examples, 5, seed))
    assert len(counts) == 20
    assert max(abs(count - 100) for count in counts.values()) < 4 * 8.7


def test_documents_stay_whole_but_for_the_last():
    examples = sentences([3, 9, 4, 20, 7])
    sizes = Counter(sentence.document for sentence in examples)
    for seed in range(10):
        part = Counter(sentence.document for sentence in part_of(examples, 15, seed))
        assert sum(part[number] < sizes[number] for number in part) <= 1


@pytest.mark.parametrize("examples", [texts(40), sentences([41])])
@pytest.mark.parametrize("folds", [2, 7, 40])
def test_folds_are_a_partition(examples, folds):
    left_out = []
    for number in range(folds):
        kept = without_part(examples, number, folds, 3)
        assert kept == [one for one in examples if one in kept]  # in order
        assert len(kept) in (len(examples) - len(examples) // folds + one for one in (0, -1))
        left_out += [one for one in examples if one not in kept]
    assert sorted(map(examples.index, left_out)) == list(range(len(examples)))
    assert without_part(examples, 0, folds, 3) == without_part(examples, 0, folds, 3)
    assert without_part(examples, 0, folds, 3) != without_part(examples, 0, folds, 4)


def test_folds_are_of_whole_documents():
    examples, left_out = sentences([3, 9, 4, 20, 7]), []
    for number in range(2):
        kept = {one.document for one in without_part(examples, number, 2, 0)}
        assert sum(one.document in kept for one in examples) == len(
            without_part(examples, number, 2, 0)
        )
        left_out += set(range(5)) - kept
    assert sorted(left_out) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        (texts(4), r"data.leave_out.of: .*as train has examples \(4\), got 5"),
        (sentences([30, 30]), r"data.leave_out.of: .*as train has documents \(2\), got 5"),
    ],
)
def test_more_folds_than_examples(examples, message):
    with pytest.raises(ConfigError, match=message):
        without_part(examples, 0, 5, 0)


def test_labels_that_a_part_lacks():
    train = texts(6, "abc")
    assert missing_labels(train[:1], train) == ["b", "c"]
    assert missing_labels(train[:3], train) == []
    sets = [Record("x", None, ("p", "q"), "f:1", None), Record("y", None, ("r",), "f:2", None)]
    assert missing_labels(sets[1:], sets) == ["p", "q"]
    tagged = [TaggedSentence(("a", "b"), ("O", "B-X"), "f:1", 0), *sentences([1])]
    assert missing_labels(tagged[1:], tagged) == ["B-X"]


def test_of_own_files_labels_and_other_splits_are_those_of_all_of_train(tmp_path):
    labels = ["rare"] + ["yes", "no"] * 30
    rows = "".join(f"text {n}\t{label}\n" for n, label in enumerate(labels))
    (tmp_path / "train.tsv").write_text("a\tb\n" + rows, "utf-8")
    whole = FilesConfig(
        format="tsv",
        kind="classification",
        train=str(tmp_path / "train.tsv"),
        columns={"text_a": "a", "label": "b"},
    )
    found = load_splits(whole)
    parts = [
        load_splits(whole.model_copy(update={"train_examples": 9, "train_examples_seed": seed}))
        for seed in (0, 1)
    ]
    for part in parts:
        assert part.labels == ["no", "rare", "yes"]
        assert part.examples["dev"] == found.examples["dev"]
        assert len(part.examples["train"]) == 9
        assert part.descriptions["train"].endswith(": 9 examples of 55")
        assert all(example in found.examples["train"] for example in part.examples["train"])
    assert parts[0].examples["train"] != parts[1].examples["train"]
    left_out = []
    for number in range(4):
        part = LeaveOutConfig(of=4, part=number, seed=5)
        changes = {"train_examples": 9, "train_examples_seed": 0, "leave_out": part}
        part = load_splits(whole.model_copy(update=changes))
        assert part.labels == ["no", "rare", "yes"]
        assert part.examples["dev"] == found.examples["dev"]
        train = part.examples["train"]
        assert part.descriptions["train"].endswith(f": {len(train)} examples of 55")
        left_out += [one for one in parts[0].examples["train"] if one not in train]
    texts_of = [
        sorted(one.text_a for one in part) for part in (left_out, parts[0].examples["train"])
    ]
    assert texts_of[0] == texts_of[1]
