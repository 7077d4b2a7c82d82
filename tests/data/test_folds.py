"""Folds of a cross-validation: whole groups, equal strata, the same whatever the order of lines."""

import random
from collections import Counter

import numpy as np
import pytest
from sklearn.model_selection import StratifiedGroupKFold

from tf_adapt.config.data_sections import FilesConfig, FoldConfig
from tf_adapt.config.reading import config_from
from tf_adapt.data.formats import Record
from tf_adapt.data.splits.cut import SplitError
from tf_adapt.data.splits.folds import fold_numbers
from tf_adapt.data.splits.groups import inseparable
from tf_adapt.data.splits.kinds import KINDS
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.errors import ConfigError

LABELS = ["often"] * 6 + ["some"] * 3 + ["rare"]


@pytest.fixture
def records():
    draws = random.Random(3)
    labels = [draws.choice(LABELS) for _ in range(203)]
    return [
        Record(f"text {n}", label=label, where=str(n), group=f"g{n // 3}" if n % 2 else None)
        for n, label in enumerate(labels)
    ]


def numbers(records, folds=5, seed=0, kind="classification"):
    return fold_numbers(records, KINDS[kind].strata(records), folds, seed, "train")


def spread(records, fold_of) -> float:
    """The largest difference of a label's share in a fold from its share in all."""
    labels = np.array([record.label for record in records])
    return max(
        abs((labels[fold_of == fold] == label).mean() - (labels == label).mean())
        for fold in set(fold_of.tolist())
        for label in set(labels)
    )


def test_groups_are_whole_and_labels_spread_as_by_scikit_learn(records):
    fold_of, groups = numbers(records), inseparable(records)
    assert sorted(set(fold_of.tolist())) == [0, 1, 2, 3, 4]
    for group in set(groups.tolist()):
        assert len(set(fold_of[groups == group])) == 1
    sizes = np.bincount(fold_of)
    assert sizes.max() - sizes.min() <= np.bincount(groups).max()
    labels = [record.label for record in records]
    theirs = np.zeros(len(records), int)
    splitter = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    for number, (_, left) in enumerate(splitter.split(labels, labels, groups)):
        theirs[left] = number
    assert spread(records, fold_of) <= spread(records, theirs)


def test_of_the_texts_and_the_seed_alone(records):
    by_text = dict(zip((r.text_a for r in records), numbers(records).tolist(), strict=True))
    turned = records[::-1]
    assert by_text == dict(zip((r.text_a for r in turned), numbers(turned).tolist(), strict=True))
    assert (numbers(records, seed=1) != numbers(records)).mean() > 0.5


@pytest.mark.parametrize("kind", ["regression", "multilabel_classification"])
def test_numbers_are_spread_by_size_and_each_of_several_labels(kind):
    draws = random.Random(5)
    labels = {
        "regression": lambda: draws.random() ** 3,
        "multilabel_classification": lambda: tuple(x for x in "abc" if draws.random() < 0.3),
    }
    some = [Record(f"t {n}", label=labels[kind](), where=str(n)) for n in range(100)]
    fold_of = numbers(some, kind=kind)
    strata = KINDS[kind].strata(some)
    counts = Counter(
        (fold, stratum) for fold, of in zip(fold_of, strata, strict=True) for stratum in of
    )
    for stratum in {stratum for of in strata for stratum in of}:
        in_folds = [counts[fold, stratum] for fold in range(5)]
        assert max(in_folds) - min(in_folds) <= 2


def test_of_too_few_none_are_made(records):
    with pytest.raises(SplitError, match="train: expected at least 50 examples .* got 49 in"):
        numbers(records[:49])
    one_group = [Record(f"t {n}", label="a", where="", group="one") for n in range(60)]
    with pytest.raises(SplitError, match="at least 5 groups .* got 60 in 1; add examples"):
        numbers(one_group)


@pytest.fixture
def whole(tmp_path):
    rows = "".join(f"text {n}\t{LABELS[n % 10]}\n" for n in range(100))
    (tmp_path / "train.tsv").write_text("a\tb\n" + rows, "utf-8")
    return FilesConfig(
        format="tsv",
        kind="classification",
        train=str(tmp_path / "train.tsv"),
        columns={"text_a": "a", "label": "b"},
    )


def test_each_example_is_left_out_once_a_repeat_and_never_seen(whole):
    left, devs = [], set()
    for number in range(5):
        fold = FoldConfig(of=5, leave_out=number, seed=1)
        splits = load_splits(whole.model_copy(update={"fold": fold}))
        parts = [{record.text_a for record in some} for some in splits.examples.values()]
        assert sum(map(len, parts)) == len(set.union(*parts)) == len(splits.pool) == 100
        assert [len(splits.examples[name]) for name in ("train", "dev", "test")] == [72, 8, 20]
        assert splits.labels == ["often", "rare", "some"]
        left += [record.text_a for record in splits.examples["test"]]
        devs |= {record.text_a for record in splits.examples["dev"]}
    assert sorted(left) == sorted(f"text {n}" for n in range(100))
    everything = load_splits(whole.model_copy(update={"fold": FoldConfig(of=5), "held_out": 0.2}))
    assert {name: len(some) for name, some in everything.examples.items()} == {
        "train": 80,
        "dev": 20,
    }
    other = FoldConfig(of=5, leave_out=0, seed=2)
    splits = load_splits(whole.model_copy(update={"fold": other}))
    assert not {record.text_a for record in splits.examples["dev"]} <= devs


REFUSED = {
    "dev": ({"dev": "other.tsv"}, "data.fold: expected null beside data.dev"),
    "beyond": ({"fold": {"of": 5, "leave_out": 5}}, "leave_out: expected the number of one of 5"),
    "both": ({"leave_out": {"of": 2, "part": 0}}, "data.fold: expected null beside data.leave_out"),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_c1_a_fold_beside_other_splits(whole, changes, message):
    content = {
        "data": whole.model_dump() | {"fold": {"of": 5, "leave_out": 0}} | changes,
        "encoder": {"handle": "bert_small"},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3},
    }
    with pytest.raises(ConfigError, match=message):
        config_from(content, "config.yaml")
