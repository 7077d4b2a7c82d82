"""Scores of each label against scikit-learn's and seqeval's."""

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support as of_entities
from sklearn.metrics import precision_recall_fscore_support

from tf_adapt.data.gold_answers import label_scores

NAMES = ("precision", "recall", "f1", "support")


def as_dict(labels, scores):
    return {
        label: dict(zip(NAMES, map(float, row), strict=True))
        for label, row in zip(labels, np.transpose(scores), strict=True)
    }


def test_classes_as_scikit_learn():
    random = np.random.default_rng(0)
    gold = random.choice(["a", "b", "c"], 100, p=[0.8, 0.15, 0.05]).tolist()
    said = random.choice(["a", "b", "never true"], 100, p=[0.8, 0.1, 0.1]).tolist()
    labels = sorted({*gold, *said})
    expected = precision_recall_fscore_support(gold, said, labels=labels, zero_division=0)
    found = label_scores(said, gold, "classification")
    assert found == {label: pytest.approx(row) for label, row in as_dict(labels, expected).items()}


def test_sets_as_scikit_learn():
    random = np.random.default_rng(1)
    rows = random.random((2, 60, 3)) < 0.4
    gold, said = ([tuple(np.array(["x", "y", "z"])[row]) for row in side] for side in rows)
    expected = precision_recall_fscore_support(*rows, zero_division=0)
    found = label_scores(said, gold, "multilabel_classification")
    assert found == {label: pytest.approx(row) for label, row in as_dict("xyz", expected).items()}


def test_entities_as_seqeval():
    random = np.random.default_rng(2)
    tags = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
    gold = [random.choice(tags, 8).tolist() for _ in range(40)]
    said = [[tag if random.random() < 0.7 else "O" for tag in sentence] for sentence in gold]
    expected = of_entities(gold, said, average=None, zero_division=0)
    found = label_scores(said, gold, "tagging", "IOB2")
    expected = as_dict(["LOC", "PER"], expected)
    assert found == {label: pytest.approx(row) for label, row in expected.items()}


def test_tags_of_words_and_kinds_without_labels():
    found = label_scores([["DT", "NN"]], [["DT", "VB"]], "tagging", "words")
    assert found["DT"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 1}
    assert found["NN"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0}
    assert label_scores([1.0], [2.0], "regression") == {}
