"""Weights of a file's optimizer, found among those of a model with other names in front."""

import pytest

from tf_adapt.adaptation.slots import SavedSlots

KNOWN = {
    "embeddings": ["bert_1/embeddings/word/table"],
    "layer_0": ["bert_1/layer_0/output/kernel", "bert_1/layer_0/output/bias"],
}
WEIGHTS = [
    ["bert_1/layer_0/output/kernel", "layer_0", 2],
    ["bert_1/layer_0/output/bias", "layer_0", 1],
    ["bert_1/embeddings/word/table", "embeddings", 3],
    ["model/head/dense_4/kernel", "head", 2],
    ["model/head/dense_4/bias", "head", 2],
    ["model/head/output/kernel", "head", 1],
]
HEAD = ["head/dense_9/kernel", "head/dense_9/bias", "head/output/kernel"]


def saved() -> SavedSlots:
    return SavedSlots(WEIGHTS, KNOWN)


def test_every_weight_in_another_order_and_under_other_names():
    paths = [
        HEAD[0],
        "outer/bert_7/embeddings/word/table",
        HEAD[1],
        "outer/bert_7/layer_0/output/bias",
        "outer/bert_7/layer_0/output/kernel",
        HEAD[2],
    ]
    groups = ["head", "embeddings", "head", "layer_0", "layer_0", "head"]
    file = saved()
    assert file.count == 11
    assert file.find(paths, groups) == [3, 2, 4, 1, 0, 5]
    assert not file.waiting


def test_some_now_and_the_others_later():
    file = saved()
    assert file.find(HEAD, 3 * ["head"]) == [3, 4, 5]
    assert list(file.waiting) == [0, 1, 2]
    assert file.find(["bert/layer_0/output/bias"], ["layer_0"]) == [1]
    assert file.find(["bert/layer_1/output/bias"], ["layer_1"]) == [None]
    assert list(file.waiting) == [0, 2]


@pytest.mark.parametrize("path", ["model/head/output/kernel", "head/output/kernel", "top/kernel"])
def test_a_part_of_the_head(caplog, path):
    known, file = path != "top/kernel", saved()
    assert file.find([path], ["head"]) == [5 if known else None]
    assert ("begin as with a new optimizer" in caplog.text) is not known


def test_values_are_those_of_their_weights():
    file = saved()
    file.read(list(range(11)))
    assert file.values == {0: [0, 1], 1: [2], 2: [3, 4, 5], 3: [6, 7], 4: [8, 9], 5: [10]}
