"""Temperatures: in predictions, with thresholds, and of kinds that have none."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import expit, softmax

from tf_adapt.errors import ConfigError
from tf_adapt.models.by_kind import classification, multilabel_classification
from tf_adapt.tasks.task import Task
from tf_adapt.tasks.thresholds import chosen
from tf_adapt.training.finished.calibrated import at_temperature, calibrate

LOGITS = np.random.default_rng(0).normal(size=(50, 3)).astype("float32") * 4


def test_the_logits_are_divided():
    task = Task("classification", ["a", "b", "c"], temperature=2.5)
    found = classification.predictions(SimpleNamespace(task=task), tf.constant(LOGITS), {})
    np.testing.assert_allclose(found["probabilities"], softmax(LOGITS / 2.5, axis=1), rtol=1e-5)
    assert Task.from_config(task.get_config()) == task


def test_thresholds_move_so_that_no_set_changes():
    before = Task("multilabel_classification", ["a", "b", "c"], thresholds=[0.5, 0.1, 0.8])
    after = at_temperature(before, 3.0)
    assert after.thresholds[0] == pytest.approx(0.5)
    sets = [
        chosen(expit(LOGITS / (task.temperature or 1.0)), task.thresholds)
        for task in (before, after)
    ]
    np.testing.assert_array_equal(*sets)
    found = multilabel_classification.predictions(
        SimpleNamespace(task=after), tf.constant(LOGITS), {}
    )
    np.testing.assert_allclose(found["probabilities"], expit(LOGITS / 3.0), rtol=1e-5)


def test_refused_where_there_is_nothing_to_calibrate():
    with pytest.raises(ConfigError, match="calibrate: expected a run of a classifier.*regression"):
        calibrate(SimpleNamespace(task=Task("regression")), None)
    with pytest.raises(ConfigError, match="temperature: expected none for regression"):
        Task("regression", temperature=2.0)
    with pytest.raises(ConfigError, match="temperature: expected a number above 0, got 0"):
        Task("classification", ["a", "b"], temperature=0.0)
