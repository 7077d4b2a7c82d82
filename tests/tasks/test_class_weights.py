"""Weights of labels against scikit-learn's."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from tf_adapt.errors import ConfigError
from tf_adapt.tasks.class_weights import class_weights
from tf_adapt.tasks.task import Task

CLASSES = Task("classification", ["a", "b", "c", "never"])
SETS = Task("multilabel_classification", ["x", "y", "all", "none"])


def test_balanced_classes_as_scikit_learn():
    ids = np.random.default_rng(0).choice(3, 200, p=[0.7, 0.25, 0.05])
    found = class_weights(CLASSES, "balanced", [ids[:90], ids[90:]])
    expected = compute_class_weight("balanced", classes=np.arange(3), y=ids)
    np.testing.assert_allclose(found, [*expected, 1.0], rtol=1e-6)


def test_balanced_tags_count_words_and_no_padding():
    task = Task("tagging", ["O", "B-X"])
    found = class_weights(task, "balanced", [np.array([[0, 0, 1], [0, -1, -1]])])
    np.testing.assert_allclose(found, [4 / 6, 4 / 2])


def test_balanced_sets_as_scikit_learn_label_by_label():
    rows = np.random.default_rng(1).random((100, 4)) < [0.1, 0.6, 1.0, 0.0]
    found = class_weights(SETS, "balanced", [rows.astype("float32")])
    for label in (0, 1):
        expected = compute_class_weight(
            "balanced", classes=np.array([False, True]), y=rows[:, label]
        )
        np.testing.assert_allclose(found[label], expected, rtol=1e-6)
    np.testing.assert_array_equal(found[2:], 1.0)


def test_given_factors():
    assert class_weights(CLASSES, {"b": 2.5, 2: 0.0}).tolist() == [1.0, 2.5, 0.0, 1.0]
    assert class_weights(SETS, {"y": 2.0}).tolist() == [[1, 1], [1, 2], [1, 1], [1, 1]]


@pytest.mark.parametrize(
    "given, message",
    [
        ({"d": 1.0}, r"class_weight\.d: expected one of the labels a, b, c, never, got 'd'"),
        ({4: 1.0}, r"class_weight\.4: expected one of the labels"),
        ({"a": -1.0}, r"class_weight\.a: expected a number of at least 0, got -1.0"),
        ({"a": True}, r"class_weight\.a: expected a number"),
        ("even", "expected balanced or factors by label, got 'even'"),
    ],
)
def test_a_wrong_value_is_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        class_weights(CLASSES, given)
