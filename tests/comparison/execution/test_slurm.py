"""Runs as jobs of a Slurm that is not there: arrays, requeue, limits, lost jobs, kills."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fake_slurm
import pytest
from commands import Command

import tf_adapt as ta
from tf_adapt.commands.comparing import _options
from tf_adapt.comparison.comparing import compare
from tf_adapt.comparison.execution import slurm
from tf_adapt.comparison.execution.executors import Resources
from tf_adapt.comparison.execution.slurm import SlurmExecutor
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.errors import ConfigError, TrainingError

OPTIONS = {"partition": "main", "time": 30}


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    folder = tmp_path / "slurm"
    monkeypatch.setenv("PATH", f"{fake_slurm.install(folder)}:{os.environ['PATH']}")
    monkeypatch.setattr(SlurmExecutor, "poll_seconds", 0.2)
    yield folder
    for entry in (folder / "queue").iterdir():
        if "." not in entry.name and int(entry.read_text()):
            fake_slurm.lose(folder, entry.name)


def executor(tmp_path, most=10, **options) -> SlurmExecutor:
    return SlurmExecutor(OPTIONS | options, most, None, 1, tmp_path / "cache")


def all_ended(made: SlurmExecutor, seconds=90) -> list:
    found, deadline = [], time.monotonic() + seconds
    while made.running:
        assert time.monotonic() < deadline, "a job does not end"
        found += made.ended(lambda run: True)
        made.flush()
        time.sleep(0.2)
    return found


def test_runs_that_start_together_are_an_array_and_leave_their_exit_codes(cluster, tmp_path):
    made = executor(tmp_path)
    runs = [Command(tmp_path / f"run_{n}") for n in range(2)]
    runs.append(Command(tmp_path / "run_2", ("train", str(tmp_path / "missing.yaml"))))
    for run in runs:
        made.start(run)
    assert made.running == runs and made.room == 7
    made.flush()
    assert [job.number for job in made.jobs] == ["1_0", "1_1", "1_2"]
    assert dict(all_ended(made)) == {runs[0]: 0, runs[1]: 0, runs[2]: ConfigError.exit_code}
    assert runs[0].log.read_text().startswith("tf-adapt, version")
    assert runs[2].log.read_text().startswith("ConfigError: ")
    script = next((tmp_path / "slurm").glob("*submission.sh")).read_text()
    for option in ("array=0-2%3", "requeue", "partition=main", "time=30", "cpus-per-task=1"):
        assert f"#SBATCH --{option}" in script


def test_a_job_that_is_lost_is_submitted_again_not_for_ever(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "LOST_SECONDS", 0.0)
    made, run = executor(tmp_path), Command(tmp_path / "run")
    made.start(run)
    for number in range(1, slurm.MOST_LOST + 1):
        made.flush()
        fake_slurm.lose(cluster, f"{number}")
        while made.jobs:
            assert made.ended(lambda run: False) == []
    made.flush()
    fake_slurm.lose(cluster, f"{slurm.MOST_LOST + 1}")
    with pytest.raises(TrainingError, match="its job was lost 4 times"):
        while True:
            made.ended(lambda run: False)


def test_a_job_that_is_lost_after_it_saved_is_counted_anew(cluster, tmp_path, monkeypatch):
    """As where others go first, and Slurm waits for it to end."""
    monkeypatch.setattr(slurm, "LOST_SECONDS", 0.0)
    made, run = executor(tmp_path), Command(tmp_path / "run")
    made.start(run)
    for number in range(1, 2 * slurm.MOST_LOST):
        made.flush()
        (run.folder / "checkpoint" / f"checkpoint_{number:06}").mkdir(parents=True)
        fake_slurm.lose(cluster, f"{number}")
        while made.jobs:
            assert made.ended(lambda run: False) == []
    made.flush()
    assert all_ended(made) == [(run, 0)]


def test_all_jobs_are_cancelled_where_a_comparison_is_interrupted(cluster, tmp_path):
    made = executor(tmp_path)
    for number in range(2):
        made.start(Command(tmp_path / f"run_{number}"))
    made.flush()
    _waited_for(lambda: all(int(path.read_text() or 0) for path in (cluster / "queue").glob("1_*")))
    cancelled = cluster / "cancelled"
    tool = cluster / "bin" / "scancel"
    tool.write_text(tool.read_text().replace("exec", f'echo "$@" > {cancelled}\nexec', 1))
    made.stop()
    assert sorted(cancelled.read_text().split()) == ["1_0", "1_1"]
    assert made.running == [] and not list((cluster / "queue").glob("1_?"))


def test_a_queue_that_does_not_answer_loses_nothing(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "LOST_SECONDS", 0.0)
    made, run = executor(tmp_path), Command(tmp_path / "run")
    made.start(run)
    made.flush()
    (cluster / "bin" / "squeue").write_text("#!/bin/sh\nexit 1\n")
    assert all_ended(made) == [(run, 0)]


def test_a_job_of_an_earlier_comparison_is_waited_for(cluster, tmp_path):
    first, run = executor(tmp_path), Command(tmp_path / "run")
    first.start(run)
    first.flush()
    second = executor(tmp_path)  # the first one was killed
    second.adopt([run])
    assert [job.number for job in second.jobs] == ["1"]
    assert all_ended(second) == [(run, 0)]
    third = executor(tmp_path)  # the run did not finish: it is submitted again
    third.adopt([run])
    assert not third.running
    third.start(run)
    third.flush()
    assert [job.number for job in third.jobs] == ["2"]


def test_options_of_the_command_line():
    given = _options("--slurm", "partition=gpu, time=120,account=00123,mem=0")
    assert given == {"partition": "gpu", "time": 120, "account": "00123", "mem": 0}
    with pytest.raises(ConfigError, match="got 'n2' in .*; values with commas.* ta.compare"):
        _options("--slurm", "exclude=n1,n2")
    with pytest.raises(ConfigError, match="KEY=VALUE,…, got 'mem=' in"):
        _options("--slurm", "mem=,time=3")
    with pytest.raises(ConfigError, match="time: expected it once, got it twice"):
        _options("--slurm", "time=120,time=3")


def test_what_is_refused(cluster, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="partitio: expected one of .*did you mean partition?"):
        executor(tmp_path, partitio="main")
    with pytest.raises(ConfigError, match="time: expected a whole number of minutes, got '1:00'"):
        executor(tmp_path, time="1:00")
    with pytest.raises(ConfigError, match="time: expected the minutes .* got none"):
        SlurmExecutor({"partition": "main"}, 2, None, 1, tmp_path)
    with pytest.raises(ConfigError, match="time: expected at least 4 minutes, got 3: .*=90 sec"):
        executor(tmp_path, time=3)
    assert executor(tmp_path, time=3, signal_delay_s=60)
    with pytest.raises(ConfigError, match="cpus_per_task: .* got 8; set compare.threads"):
        executor(tmp_path, cpus_per_task=8)
    with pytest.raises(ConfigError, match="stderr_to_stdout: expected no such option"):
        executor(tmp_path, stderr_to_stdout="true")
    with pytest.raises(ConfigError, match="additional_parameters: expected a dict in ta.compare"):
        executor(tmp_path, additional_parameters="")
    with pytest.raises(ConfigError, match="setup: expected a list of texts in ta.compare.*'text'"):
        executor(tmp_path, setup="text")
    with pytest.raises(ConfigError, match="nodes: expected a whole number, got 'two'"):
        executor(tmp_path, nodes="two")
    with pytest.raises(ConfigError, match="ntasks_per_node: expected 1, a job is one run, got 4"):
        executor(tmp_path, nodes=1, ntasks_per_node=4)
    with pytest.raises(ConfigError, match="slurm: expected a dict such as .*got 'partition=gpu'"):
        ta.compare({}, tmp_path / "out", slurm="partition=gpu")
    with pytest.raises(ConfigError, match="expected a whole number with --slurm.*got 0.5"):
        SlurmExecutor(OPTIONS, 2, 0.5, 1, tmp_path)
    (cluster / "bin" / "sbatch").write_text("#!/bin/sh\necho invalid partition >&2\nexit 1\n")
    made = executor(tmp_path)
    made.start(Command(tmp_path / "run"))
    with pytest.raises(ConfigError, match="sbatch refuses the jobs: .*invalid partition"):
        made.flush()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError, match="expected a machine with Slurm's commands"):
        executor(tmp_path)


@pytest.mark.slow
def test_p4_a_job_at_its_limit_goes_on_from_its_checkpoint(
    cluster, write_config, sketched, tmp_path
):
    changes = {"adaptations": ["freeze"], "seeds": 1, "learning_rates": [1e-2]}
    path = write_config(training={"epochs": 16, "batch_size": 8}, **changes)
    out = tmp_path / "out"

    def at_its_limit() -> tuple[Path, str]:
        """Its folder, and what is printed."""
        state = _waited_for(lambda: next(out.rglob("seed_0/checkpoint/*/state.json"), None))
        os.killpg(int((cluster / "queue" / "1").read_text()), signal.SIGUSR2)
        return state.parents[2], _waited_for(lambda: _text(out / "slurm", "Requeued job"))

    with ThreadPoolExecutor(1) as beside:
        ended = beside.submit(at_its_limit)
        compare(load_comparison(path), out, Resources(slurm={"partition": "main", "time": 30}))
    run, printed = ended.result()
    assert "Caught signal SIGUSR2" in printed
    assert (run / "metrics.json").is_file() and (out / "report.json").is_file()
    before, _, after = run.with_suffix(".log").read_text().partition("the same command goes on")
    assert "epoch 16:" in after and "epoch 16:" not in before and "epoch 1:" not in after


def _waited_for(found, seconds=240):
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.1)
    return value


def _text(folder: Path, sought: str) -> str | None:
    """The output of the jobs, once it has some text."""
    texts = "".join(path.read_text() for path in folder.glob("*.out"))
    return texts if sought in texts else None
