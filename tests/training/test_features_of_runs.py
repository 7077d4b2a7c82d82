"""Runs on a frozen encoder: the same bits wherever its features are, and after every accident.

(From what another head left: encoder/test_shared_features.py.)
"""

import shutil

import numpy as np
import pytest

from tf_adapt.config.reading import config_from
from tf_adapt.encoder import feature_arrays, feature_cache
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import checkpoints
from tf_adapt.training.resolving import run_config
from tf_adapt.training.steps import Steps
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def make_config(shallow_bert):
    def make(**features):
        content = {
            "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 96},
            "encoder": {"handle": str(shallow_bert)},
            "head": "linear",
            "head_pooling": "mean",
            "adaptation": "feature_extraction",
            "features": features,
            "training": {"epochs": 2, "batch_size": 16, "learning_rate": 1e-2},
        }
        return config_from(content, "test")

    return make


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(feature_arrays, "SMALLEST_SHARD", 32)


@pytest.fixture(scope="module")
def whole(make_config, tmp_path_factory):
    """The weights of a run whose features are in memory."""
    run = tmp_path_factory.mktemp("whole") / "run"
    train(make_config(), run)
    return best_weights(run)


def best_weights(run) -> dict:
    return checkpoints.load_best(run / "checkpoint").arrays["model"]


def check_same(run, whole):
    found = best_weights(run)
    assert found.keys() == whole.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(found[name], value)


def test_i1_interrupted_while_features_are_computed(make_config, whole, tmp_path, monkeypatch):
    passes, compute = [], feature_cache.computed_shards

    def interrupted(batches):
        for number, batch in enumerate(batches):
            if number == 2:
                raise KeyboardInterrupt
            yield batch

    def watched(prepared, number, graph, parts, orders, *more):
        passes.append(sum(map(len, orders)))
        return compute(prepared, number, graph, parts, orders, *more)

    monkeypatch.setattr(feature_cache, "computed_shards", watched)
    with monkeypatch.context() as patch:
        patch.setattr(feature_cache, "tracked", lambda batches, *_: interrupted(batches))
        with pytest.raises(KeyboardInterrupt):
            train(make_config(limit_mb=0), tmp_path / "run")
    assert [entry.name for entry in (tmp_path / "run").iterdir()] == [".features"]
    train(make_config(limit_mb=0), tmp_path / "run")
    check_same(tmp_path / "run", whole)  # on disk the same bits
    assert not (tmp_path / "run" / ".features").exists()
    assert passes[:2] == [96, 32]


def harm(monkeypatch, action) -> None:
    """Does something to the disk in the second epoch."""
    after_step = Steps.on_train_batch_end

    def on_train_batch_end(self, batch, logs=None):
        after_step(self, batch, logs)
        if self.run.state.global_step == 7:
            action()

    monkeypatch.setattr(Steps, "on_train_batch_end", on_train_batch_end)


def test_a_cache_that_is_removed_during_training(make_config, whole, tmp_path, monkeypatch):
    cache, found = tmp_path / "cache", []

    def remove():
        found.extend(cache.glob("*/features/*/shard_*"))
        shutil.rmtree(cache)

    harm(monkeypatch, remove)
    train(make_config(cache=str(cache)), tmp_path / "run")
    assert not cache.exists() and len(found) > 3  # of train; one or more of each other split
    check_same(tmp_path / "run", whole)


def test_a_cache_that_is_cut_during_training(make_config, tmp_path, monkeypatch):
    """(Computed again: I7 in encoder/test_feature_cache.py.)"""
    cache = tmp_path / "cache"

    def cut():
        for path in cache.rglob("rows.bin"):
            path.write_bytes(b"")

    harm(monkeypatch, cut)
    with pytest.raises(ArtifactError, match="features cannot be read any more"):
        train(make_config(cache=str(cache)), tmp_path / "run")


def test_another_precision_is_another_run(make_config, tmp_path):
    started = make_config()
    stored_elsewhere = make_config(cache=str(tmp_path), limit_mb=1, disk_limit_mb=1)
    run_config.check_same_run(tmp_path, started, stored_elsewhere)
    with pytest.raises(ConfigError, match="features.dtype .was float32, now float16."):
        run_config.check_same_run(tmp_path, started, make_config(dtype="float16"))
