"""`training.class_weight` of a config."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.task import Task
from tf_adapt.training.resolving.weighed_labels import weigh_labels


def config(class_weight, data="sample_tagging", **more):
    training = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3, "class_weight": class_weight}
    content = {
        "data": {"dataset": data, "source": "sample"},
        "encoder": {"handle": "bert_small"},
        "adaptation": "fine_tuning",
        "training": training,
    }
    return config_from(content | more, "run.yaml")


def test_the_words_of_train_are_counted():
    model = SimpleNamespace(task=Task("tagging", ["O", "B-X"]), class_weights=None)
    train = SimpleNamespace(targets=tf.ragged.constant([[0, 0, 1], [0]]))
    weigh_labels(config(None), model, train)
    assert model.class_weights is None
    weigh_labels(config("balanced"), model, train)
    np.testing.assert_allclose(model.class_weights, [4 / 6, 4 / 2])
    with pytest.raises(ConfigError, match=r"^training\.class_weight\.PER: expected one of the"):
        weigh_labels(config({"PER": 2.0}), model, train)


def test_where_a_config_has_none():
    with pytest.raises(ConfigError, match=r"training\.class_weight: expected null for regression"):
        config("balanced", "sample_regression")
    with pytest.raises(ConfigError, match=r"class_weight: expected null together with teacher"):
        config("balanced", teacher={"run": "teacher"}, head="linear_tagger")
