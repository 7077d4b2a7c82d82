"""The devices of a training: values of the config → a TensorFlow distribution strategy."""

import json
import os

import tensorflow as tf

from tf_adapt.errors import ConfigError


def make_strategy(devices: str | None, strategy: str | None) -> tf.distribute.Strategy:
    """The distribution strategy for `devices` (all, cpu:N, gpu:N, None) and `strategy`.

    Call it before TensorFlow has started its devices: they cannot be split afterwards.

    Raises:
        ConfigError: there are fewer devices than requested, or TF_CONFIG is missing or invalid.
    """
    if strategy == "multi_worker":
        _check_tf_config()
        return tf.distribute.MultiWorkerMirroredStrategy()
    if devices is None:
        return tf.distribute.get_strategy()
    device, _, count = devices.partition(":")
    if device == "all":
        gpus = tf.config.list_physical_devices("GPU")
        return tf.distribute.MirroredStrategy() if gpus else tf.distribute.get_strategy()
    if device == "cpu":
        _split_cpu(int(count))
    available = len(tf.config.list_logical_devices(device.upper()))
    if int(count) > available:
        raise ConfigError(
            f"training.devices: expected {devices}, got {available} {device.upper()} devices here; "
            "ask for fewer, or for null"
        )
    return tf.distribute.MirroredStrategy([f"{device}:{index}" for index in range(int(count))])


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Whether this process writes the run folder."""
    resolver = strategy.cluster_resolver
    if resolver is None or not resolver.task_type:
        return True
    return resolver.task_type == "chief" or (
        resolver.task_id == 0 and "chief" not in resolver.cluster_spec().as_dict()
    )


def _split_cpu(count: int) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    parts = [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
    present = tf.config.get_logical_device_configuration(cpu)
    if len(present or [None]) >= count:
        return
    try:
        tf.config.set_logical_device_configuration(cpu, parts)
    except RuntimeError:
        raise ConfigError(
            f"training.devices: cpu:{count}: TensorFlow has already started with "
            f"{len(present or [None])} CPU device; ask for it first in a fresh process"
        ) from None


def _check_tf_config() -> None:
    advice = (
        'it names all workers and this one: {"cluster": {"worker": ["host:port", …]}, '
        '"task": {"type": "worker", "index": 0}}'
    )
    text = os.environ.get("TF_CONFIG")
    if not text:
        raise ConfigError(
            f"training.strategy: multi_worker needs the environment variable TF_CONFIG; {advice}"
        )
    try:
        content = json.loads(text)
        content["cluster"], content["task"]["type"], content["task"]["index"]
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"TF_CONFIG: not the JSON that is expected; {advice}") from None
