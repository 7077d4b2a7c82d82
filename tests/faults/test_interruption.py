"""Killed at any moment, a run ends with the same bits (I1 to I6, I10)."""

import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf  # noqa: F401  # what is timed is a run, not its imports
from click.testing import CliRunner

from hub_modules.storage.files import sha256
from tf_adapt.commands.main import cli
from tf_adapt.runs import checkpoints
from tf_adapt.runs.run_folder import locked

INTERRUPTING = Path(__file__).parents[1] / "children" / "interrupting.py"
SECTIONS = """\
data: {{dataset: sample_classification, source: sample, train_examples: 64}}
encoder: {{handle: {module}}}
adaptation: {adaptation}
"""
TRAINING = "training: {epochs: 3, batch_size: 8, learning_rate: 1.0e-2}\n"


@pytest.fixture(scope="module")
def config(shallow_bert, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("config") / "config.yaml"
    path.write_text(SECTIONS.format(module=shallow_bert, adaptation="fine_tuning") + TRAINING)
    return path


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory) -> tuple[Path, float]:
    """A run that nobody interrupted, and its seconds."""
    run = tmp_path_factory.mktemp("whole") / "run"
    started = time.monotonic()
    result = train(config, run)
    assert result.exit_code == 0, result.output
    return run, time.monotonic() - started


@pytest.fixture
def unfinished(whole, tmp_path) -> Path:
    """A copy of the run that was killed before it said that it is finished."""
    run = Path(shutil.copytree(whole[0], tmp_path / "run"))
    (run / "metrics.json").unlink()
    return run


def train(config: Path, out: Path, *more: str):
    return CliRunner().invoke(cli, ["train", str(config), "--out", str(out), *more])


def last_line(result) -> str:
    assert "Traceback" not in result.output
    return result.stderr.splitlines()[-1]


def results(run: Path) -> dict[str, str]:
    """Hashes of everything that a run is for; times are in no file of them."""
    newest = sorted((run / "checkpoint").glob("checkpoint_*"))[-1]
    best = sorted((run / "checkpoint").glob("best_*"))[-1]
    parts = {f"newest {name}": newest / f"{name}.npz" for name in ("model", "optimizer", "random")}
    parts |= {"best model": best / "model.npz", "history": run / "history.csv"}
    parts |= {"predictions": run / "predictions" / "dev.tsv"}
    hashes = {name: content_hash(path) for name, path in parts.items()}
    assert not list(run.rglob("*.partial"))
    metrics = json.loads((run / "metrics.json").read_text())
    return hashes | {key: str(metrics[key]) for key in ("dev", "best_epoch", "epochs")}


def content_hash(path: Path) -> str:
    """Of an npz the arrays' bytes: a zip file holds the time of its making."""
    if path.suffix != ".npz":
        return sha256(path)
    with np.load(path, allow_pickle=False) as arrays:
        digest = hashlib.sha256()
        for name in sorted(arrays.files):
            digest.update(name.encode() + arrays[name].tobytes())
        return digest.hexdigest()


def drive(config: Path, out: Path, kills: int, way: str, seed: int = 1, seconds: float = 0) -> dict:
    """What interrupting.py did; the last attempt got through."""
    values = [config, out, kills, seed, way, seconds]
    command = [sys.executable, str(INTERRUPTING), *map(str, values)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    log = Path(f"{out}.log")
    assert done.returncode == 0, done.stderr + (log.read_text() if log.exists() else "")
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["codes"][-1] == 0, (result, log.read_text())
    return result


def interrupt(config: Path, whole, out: Path, kills: int, way: str, seed: int = 1) -> dict:
    result = drive(config, out, kills, way, seed, whole[1])
    assert results(out) == results(whole[0]), result
    return result


@pytest.mark.slow
def test_i1_i2_i3_interrupted_in_each_way_in_turn(config, whole, tmp_path):
    """Before the first rename, after the second, by a signal that asks and by one that kills."""
    result = interrupt(config, whole, tmp_path / "run", 2, "each")
    assert result["codes"] == [9, 9, 143, *2 * [-signal.SIGKILL], 0]
    assert max(result["seconds_to_end"]) < 10


@pytest.mark.large
def test_i1_killed_at_fifty_random_moments(config, whole, tmp_path):
    interrupt(config, whole, tmp_path / "run", 50, "random", seed=2)


@pytest.mark.large
@pytest.mark.parametrize(
    "adaptation",
    [
        "{name: gradual_unfreezing, every: 20, unit: steps}",
        "{name: chain_thaw, every: 1}",
        "{name: chain_thaw, every: 2, patience: 1}",
    ],
)
def test_i1_killed_in_three_phases_of_a_schedule(tiny_bert, tmp_path, adaptation):
    path = tmp_path / "config.yaml"
    path.write_text(
        SECTIONS.format(module=tiny_bert, adaptation=adaptation)
        + "optimizer: {decay: 0.5}\n"
        + "training: {epochs: 6, batch_size: 4, learning_rate: 1.0e-2}\n"
    )
    drive(path, tmp_path / "whole", 0, "random")
    result = drive(path, tmp_path / "run", 3, "phases")
    assert result["codes"] == [*3 * [-signal.SIGKILL], 0]
    assert len(result["phases"]) == 4, result
    assert results(tmp_path / "run") == results(tmp_path / "whole")


@pytest.mark.large
def test_i2_killed_at_every_rename(config, whole, tmp_path):
    result = interrupt(config, whole, tmp_path / "run", 20, "renames")
    assert result["codes"][:3] == [9, 9, 9]


@pytest.mark.large
def test_i3_stopped_by_the_keyboard(config, whole, tmp_path):
    result = interrupt(config, whole, tmp_path / "run", 1, "steps")
    assert result["codes"] == [130, 0]
    assert max(result["seconds_to_end"]) < 10


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_i4_every_checkpoint_damaged(config, unfinished):
    for path in (unfinished / "checkpoint").glob("checkpoint_*"):
        flip(path / "optimizer.npz")
    before = sorted(unfinished.rglob("*"))
    result = train(config, unfinished)
    assert result.exit_code == 4
    assert last_line(result).startswith("ArtifactError: ")
    assert "no checkpoint is intact" in last_line(result)
    assert sorted(unfinished.rglob("*")) == before


def test_i5_finished_run_is_left_alone(config, whole):
    before = {path: path.stat().st_mtime_ns for path in whole[0].rglob("*")}
    assert train(config, whole[0]).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in whole[0].rglob("*")} == before


def test_i5_finished_run_that_is_not_whole(config, whole, tmp_path):
    for name in ("predictions/dev.tsv", "task.json", "checkpoint", "best"):
        run = tmp_path / name.replace("/", "_")
        shutil.copytree(whole[0], run)
        if name == "best":
            newest = checkpoints.load_latest(run / "checkpoint")
            flip(run / "checkpoint" / newest.state["best"]["name"] / "model.npz")
        elif name == "checkpoint":
            shutil.rmtree(run / name)
        else:
            (run / name).unlink()
        result = train(config, run)
        assert result.exit_code == 4, name
        assert "the run is finished, but not whole" in last_line(result)


@pytest.mark.slow
def test_i5_what_is_missing_is_made_again_and_files_of_the_user_stay(config, whole, unfinished):
    (unfinished / "predictions" / "dev.tsv").unlink()
    (unfinished / "task.json").unlink()
    number = "0" * 32
    own = ["thesis.partial", ".thesis.partial", f".thesis.{number}.partial"]
    for name in own:
        (unfinished / name).write_text("mine")
    (unfinished / f".config.yaml.{number}.partial").write_text("half")
    assert train(config, unfinished).exit_code == 0
    assert not (unfinished / f".config.yaml.{number}.partial").exists()
    for name in own:
        assert (unfinished / name).read_text() == "mine"
        (unfinished / name).unlink()
    assert results(unfinished) == results(whole[0])
    other = unfinished.with_name("other")
    other.mkdir()
    (other / ".thesis.partial").write_text("mine")
    assert train(config, other).exit_code == 4
    assert [path.name for path in other.iterdir()] == [".thesis.partial"]


def test_i5_other_config(config, whole):
    result = train(config, whole[0], "--set", "data.train_examples=32")
    assert result.exit_code == 2
    assert last_line(result).startswith("ConfigError: ")
    assert "data.train_examples (was 64, now 32)" in last_line(result)


@pytest.mark.slow
def test_i5_other_surroundings(config, unfinished):
    found = checkpoints.load_latest(unfinished / "checkpoint")
    keys = ("tensorflow", "encoder.handle", "labels", "train data", "dev data")
    others = found.state["identity"] | dict.fromkeys(keys, "something else")
    checkpoints.save(unfinished / "checkpoint", found.arrays, found.state | {"identity": others})
    result = train(config, unfinished)
    assert result.exit_code == 4
    assert last_line(result).startswith("ArtifactError: ")
    for key in keys:
        assert f"{key} (was something else, now " in last_line(result)


@pytest.mark.slow
def test_i5_more_epochs_go_on(config, whole, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(whole[0], run)
    result = train(config, run, "--set", "training.epochs=4")
    assert result.exit_code == 0, result.output
    assert json.loads((run / "metrics.json").read_text())["epochs"] == 4
    history = (run / "history.csv").read_text().splitlines()
    assert history[:4] == (whole[0] / "history.csv").read_text().splitlines()
    assert len(history) == 5


@pytest.mark.slow
def test_i4_i6_newest_checkpoint_damaged_and_no_space(config, whole, unfinished, caplog):
    """A limit on the size of files stands in for a full disk."""
    newest = sorted((unfinished / "checkpoint").glob("checkpoint_*"))[-1]
    flip(newest / "model.npz")
    limits, limit = resource.getrlimit(resource.RLIMIT_FSIZE), 40_000
    assert max(path.stat().st_size for path in whole[0].rglob("*.npz")) > limit
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
    try:
        result = train(config, unfinished)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.exit_code == 4, result.output
    assert last_line(result).startswith("ArtifactError: ")
    assert "cannot be written" in last_line(result)
    assert f"{newest / 'model.npz'}: size or SHA-256 is not the recorded one" in caplog.text
    assert not list(unfinished.rglob("*.partial"))
    result = train(config, unfinished)
    assert result.exit_code == 0, result.output
    assert results(unfinished) == results(whole[0])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_i6_read_only_folder(config, tmp_path):
    tmp_path.chmod(0o500)
    result = train(config, tmp_path / "run")
    tmp_path.chmod(0o700)
    assert result.exit_code == 4
    assert "not writable" in last_line(result)


def test_i10_two_runs_in_one_folder(config, tmp_path):
    with locked(tmp_path / "run"):
        result = train(config, tmp_path / "run")
    assert result.exit_code == 4
    assert f"in use by pid {os.getpid()}" in last_line(result)
