"""Killed at any moment, a run ends with the same bits (I1 to I6, I10)."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hub_modules.storage.files import sha256
from tf_adapt.commands.main import cli
from tf_adapt.runs import checkpoints
from tf_adapt.runs.run_folder import locked

INTERRUPTING = Path(__file__).parents[1] / "children" / "interrupting.py"


SECTIONS = """\
data: {{dataset: sample_classification, source: sample, train_examples: 64}}
encoder: {{handle: {module}}}
adaptation: fine_tuning
"""


@pytest.fixture(scope="module")
def config(tiny_bert, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("config") / "config.yaml"
    training = "training: {epochs: 4, batch_size: 4, learning_rate: 1.0e-2}\n"
    path.write_text(SECTIONS.format(module=tiny_bert) + training)
    return path


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory) -> tuple[Path, float]:
    """A run that nobody interrupted, and its seconds."""
    run = tmp_path_factory.mktemp("whole") / "run"
    return run, drive(config, run, 0, "SIGKILL")["seconds"]


@pytest.fixture(scope="module")
def finished(tiny_bert, tmp_path_factory) -> Path:
    """A finished run of two epochs, and its config beside it."""
    folder = tmp_path_factory.mktemp("finished")
    training = "training: {epochs: 2, batch_size: 8, learning_rate: 1.0e-2}\n"
    (folder / "config.yaml").write_text(SECTIONS.format(module=tiny_bert) + training)
    result = train(folder / "config.yaml", folder / "run")
    assert result.exit_code == 0, result.output
    return folder


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
def test_i1_killed_at_random_moments(config, whole, tmp_path):
    result = interrupt(config, whole, tmp_path / "run", 3, "SIGKILL")
    assert set(result["codes"]) <= {0, -signal.SIGKILL}
    assert -signal.SIGKILL in result["codes"]


@pytest.mark.large
def test_i1_killed_at_fifty_random_moments(config, whole, tmp_path):
    interrupt(config, whole, tmp_path / "run", 50, "SIGKILL", seed=2)


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
    sections = SECTIONS.replace("fine_tuning", "{adaptation}")
    path.write_text(
        sections.format(module=tiny_bert, adaptation=adaptation)
        + "optimizer: {decay: 0.5}\n"
        + "training: {epochs: 6, batch_size: 4, learning_rate: 1.0e-2}\n"
    )
    drive(path, tmp_path / "whole", 0, "SIGKILL")
    result = drive(path, tmp_path / "run", 3, "phases")
    assert result["codes"] == [*3 * [-signal.SIGKILL], 0]
    assert len(result["phases"]) == 4, result
    assert results(tmp_path / "run") == results(tmp_path / "whole")


@pytest.mark.slow
def test_i2_killed_before_and_after_the_first_renames(config, whole, tmp_path):
    result = interrupt(config, whole, tmp_path / "run", 4, "renames")
    assert result["codes"] == [9, 9, 9, 9, 0]


@pytest.mark.large
def test_i2_killed_at_every_rename(config, whole, tmp_path):
    result = interrupt(config, whole, tmp_path / "run", 20, "renames")
    assert result["codes"][:3] == [9, 9, 9]


@pytest.mark.slow
@pytest.mark.parametrize(("way", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_i3_asked_to_stop(config, whole, tmp_path, way, code):
    result = interrupt(config, whole, tmp_path / "run", 1, way)
    assert result["codes"] == [code, 0]
    assert max(result["seconds_to_end"]) < 10


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "cut":
        del content[len(content) // 2 :]
    else:
        content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cut", "flip"])
def test_i4_newest_checkpoint_damaged(finished, tmp_path, caplog, how):
    run = tmp_path / "run"
    shutil.copytree(finished / "run", run)
    (run / "metrics.json").unlink()
    newest = sorted((run / "checkpoint").glob("checkpoint_*"))[-1]
    damage(newest / "model.npz", how)
    result = train(finished / "config.yaml", run)
    assert result.exit_code == 0, result.output
    assert f"{newest / 'model.npz'}: size or SHA-256 is not the recorded one" in caplog.text
    assert results(run) == results(finished / "run")


def test_i4_every_checkpoint_damaged(finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished / "run", run)
    (run / "metrics.json").unlink()
    for path in (run / "checkpoint").glob("checkpoint_*"):
        damage(path / "optimizer.npz", "flip")
    before = sorted(run.rglob("*"))
    result = train(finished / "config.yaml", run)
    assert result.exit_code == 4
    assert last_line(result).startswith("ArtifactError: ")
    assert "no checkpoint is intact" in last_line(result)
    assert sorted(run.rglob("*")) == before


def test_i5_finished_run_is_left_alone(finished):
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    result = train(finished / "config.yaml", finished / "run")
    assert result.exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["predictions/dev.tsv", "task.json", "checkpoint", "best"])
def test_i5_finished_run_that_is_not_whole(finished, tmp_path, name):
    run = tmp_path / "run"
    shutil.copytree(finished / "run", run)
    if name == "best":
        newest = checkpoints.load_latest(run / "checkpoint")
        damage(run / "checkpoint" / newest.state["best"]["name"] / "model.npz", "flip")
    elif name == "checkpoint":
        shutil.rmtree(run / name)
    else:
        (run / name).unlink()
    result = train(finished / "config.yaml", run)
    assert result.exit_code == 4
    assert "the run is finished, but not whole" in last_line(result)
    if name != "checkpoint" and name != "best":  # the advice that it gives
        (run / "metrics.json").unlink()
        assert train(finished / "config.yaml", run).exit_code == 0
        assert results(run) == results(finished / "run")


@pytest.mark.slow
def test_i5_files_of_the_user_stay(finished, tmp_path):
    run, number = tmp_path / "run", "0" * 32
    shutil.copytree(finished / "run", run)
    (run / "metrics.json").unlink()
    own = ["thesis.partial", ".thesis.partial", f".thesis.{number}.partial"]
    for name in own:
        (run / name).write_text("mine")
    (run / f".config.yaml.{number}.partial").write_text("half")
    assert train(finished / "config.yaml", run).exit_code == 0
    assert all((run / name).read_text() == "mine" for name in own)
    assert not (run / f".config.yaml.{number}.partial").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / ".thesis.partial").write_text("mine")
    result = train(finished / "config.yaml", other)
    assert result.exit_code == 4
    assert [path.name for path in other.iterdir()] == [".thesis.partial"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("training.learning_rate=0.5", "training.learning_rate (was 0.01, now 0.5)"),
        ("training.epochs=1", "training.epochs (was 2, now 1)"),
        ("data.train_examples=32", "data.train_examples (was 64, now 32)"),
    ],
)
def test_i5_other_config(finished, change, message):
    result = train(finished / "config.yaml", finished / "run", "--set", change)
    assert result.exit_code == 2
    assert last_line(result).startswith("ConfigError: ")
    assert message in last_line(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", ["tensorflow", "encoder.handle", "labels", "train data", "dev data"]
)
def test_i5_other_surroundings(finished, tmp_path, key):
    run = tmp_path / "run"
    shutil.copytree(finished / "run", run)
    (run / "metrics.json").unlink()
    found = checkpoints.load_latest(run / "checkpoint")
    state = found.state | {"identity": found.state["identity"] | {key: "something else"}}
    checkpoints.save(run / "checkpoint", found.arrays, state)
    result = train(finished / "config.yaml", run)
    assert result.exit_code == 4
    assert last_line(result).startswith("ArtifactError: ")
    assert f"{key} (was something else, now " in last_line(result)


@pytest.mark.slow
def test_i5_more_epochs_go_on(finished, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(finished / "run", run)
    result = train(finished / "config.yaml", run, "--set", "training.epochs=3")
    assert result.exit_code == 0, result.output
    assert json.loads((run / "metrics.json").read_text())["epochs"] == 3
    history = (run / "history.csv").read_text().splitlines()
    assert history[:3] == (finished / "run" / "history.csv").read_text().splitlines()
    assert len(history) == 4


@pytest.mark.slow
def test_i6_no_space(finished, tmp_path):
    """A limit on the size of files stands in for a full disk."""
    run = tmp_path / "run"
    limit = 40_000
    size = max(path.stat().st_size for path in (finished / "run").rglob("*.npz"))
    assert size > limit
    program = (
        "import resource, signal, sys\n"
        "from tf_adapt.commands.main import cli\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        f"cli(['train', {str(finished / 'config.yaml')!r}, '--out', {str(run)!r}])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 4, done.stderr
    assert done.stderr.splitlines()[-1].startswith("ArtifactError: ")
    assert "cannot be written" in done.stderr.splitlines()[-1]
    assert not list(run.rglob("*.partial"))
    result = train(finished / "config.yaml", run)
    assert result.exit_code == 0, result.output
    assert results(run) == results(finished / "run")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_i6_read_only_folder(finished, tmp_path):
    tmp_path.chmod(0o500)
    result = train(finished / "config.yaml", tmp_path / "run")
    tmp_path.chmod(0o700)
    assert result.exit_code == 4
    assert "not writable" in last_line(result)


def test_i10_two_runs_in_one_folder(config, tmp_path):
    with locked(tmp_path / "run"):
        result = train(config, tmp_path / "run")
    assert result.exit_code == 4
    assert f"in use by pid {os.getpid()}" in last_line(result)
