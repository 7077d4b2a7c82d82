"""Devices by name; two of one CPU are in test_losses_on_two_devices.py."""

import pytest
import tensorflow as tf

from tf_adapt.errors import ConfigError
from tf_adapt.training.resolving.devices import is_chief, make_strategy


def test_one_device_needs_no_strategy():
    strategy = make_strategy(None, None)
    assert strategy.num_replicas_in_sync == 1
    assert is_chief(strategy)


@pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="there is a GPU")
def test_missing_gpu():
    with pytest.raises(ConfigError, match=r"training\.devices: expected gpu:1, got 0 GPU"):
        make_strategy("gpu:1", None)


def test_too_late_to_split_the_cpu():
    tf.constant(1)
    with pytest.raises(ConfigError, match="TensorFlow has already started"):
        make_strategy("cpu:64", None)


def test_multi_worker_without_tf_config(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    for value in (None, "{", "[]", '{"cluster": {}}', '{"cluster": 1, "task": 2}'):
        if value is not None:
            monkeypatch.setenv("TF_CONFIG", value)
        with pytest.raises(ConfigError, match="TF_CONFIG"):
            make_strategy(None, "multi_worker")
