"""Many processes and one cache of features (I9)."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tf_adapt as ta
from hub_modules.storage import files
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.encoder import feature_cache as features
from tf_adapt.errors import ArtifactError

CACHING = Path(__file__).parents[1] / "children" / "caching.py"


@pytest.mark.large
@pytest.mark.parametrize("how", ["whole", "killed"])
def test_i9_eight_processes_build_one_cache(tiny_bert, tmp_path, how):
    command = [sys.executable, str(CACHING), str(tiny_bert), str(tmp_path / "cache"), "8", how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    dead = how == "killed"
    assert result["codes"] == [-signal.SIGKILL if dead else 0, *7 * [0]], done.stderr
    assert len(result["found"]) == 8 - dead
    assert sum(one["computed"] for one in result["found"]) == 1
    assert len({one["states"] for one in result["found"]}) == 1
    assert not list(tmp_path.rglob("*.partial"))


def rows_of(data) -> np.ndarray:
    (states,) = data.features[0]
    return np.concatenate([states.rows(example) for example in range(len(states.starts))])


@pytest.fixture
def data(tiny_elmo):
    encoder = ta.HubEncoder(tiny_elmo, trainable=False)
    task = ta.Task("classification", labels=["no", "yes"])
    return prepare(["a man sang", "who"], task, encoder), encoder


def test_i9_the_loser_of_a_rename_uses_the_winners_copy(data, tmp_path, monkeypatch):
    expected = rows_of(features.with_features(*data))
    rename = files.rename

    def too_late(source, target):
        shutil.copytree(source, target)
        rename(source, target)  # onto a folder that is not empty

    monkeypatch.setattr(files, "rename", too_late)
    kept = features.with_features(*data, cache=str(tmp_path / "cache"))
    np.testing.assert_array_equal(rows_of(kept), expected)
    assert not list(tmp_path.rglob("*.partial"))


def test_i9_a_loser_without_a_winner_is_refused(data, tmp_path, monkeypatch):
    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "rename", fail)
    with pytest.raises(ArtifactError, match="No space left"):
        features.with_features(*data, cache=str(tmp_path / "cache"))
    assert not list(tmp_path.rglob("*.partial"))
