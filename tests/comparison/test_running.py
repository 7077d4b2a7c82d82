"""How many runs are at work at a time, and which process does which."""

import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import finished_runs
import pytest

from tf_adapt import __version__
from tf_adapt.comparison.execution import local, running
from tf_adapt.comparison.execution.display import Display
from tf_adapt.comparison.execution.local import LocalExecutor, Worker
from tf_adapt.comparison.execution.outcomes import Outcomes
from tf_adapt.errors import ConfigError, TrainingError
from tf_adapt.runs import run_folder


@pytest.fixture
def outcomes_of(comparison_of, tmp_path):
    def outcomes(adaptations=("fine_tuning",)) -> Outcomes:
        rates = {"learning_rates": [3.0e-3, 1.0e-3, 3.0e-4], "seeds": 1}
        return Outcomes(comparison_of(adaptations=list(adaptations), **rates), tmp_path / "out")

    return outcomes


class Quick:
    """The process of a run that is finished when it is first looked at."""

    def __init__(self, run, at_work: list):
        self.run, self.at_work = run, at_work
        self.stdin = io.BytesIO()

    def poll(self):
        finished_runs.finish(self.run.folder)
        self.run.log.write_text("done\n")
        self.at_work.remove(self.run.folder)
        return 0


class Silent:
    """A display that shows nothing, and calls back when a run is finished."""

    def __init__(self, on_finished):
        self.on_finished = on_finished

    def update(self, outcomes, runs):
        pass

    def say_once(self, text):
        pass

    def finished(self, outcomes, run):
        self.on_finished()


class AtOnce:
    """An executor whose runs are finished when they are started."""

    poll_seconds, room, running, waits_for = 0.0, 1, (), None

    def __init__(self):
        self.over = []

    def choice(self, waiting):
        return waiting[0]

    def adopt(self, runs):
        pass

    def start(self, run):
        finished_runs.finish(run.folder)
        run.log.write_text("done\n")
        self.over.append((run, 0))
        self.room = 0

    def flush(self):
        pass

    def ended(self, is_finished):
        over, self.over, self.room = self.over, [], 1
        return over

    def stop(self):
        pass


def test_an_end_before_the_last_run_stops_what_is_at_work(outcomes_of):
    outcomes, executor, stopped = outcomes_of(), AtOnce(), []
    executor.stop = lambda: stopped.append(outcomes.counts())
    running.run_all(outcomes, executor, Silent(lambda: None), lambda: outcomes.counts()[0] == 2)
    assert stopped == [(2, 4)]
    running.run_all(outcomes, executor, Silent(lambda: None), lambda: False)
    assert outcomes.counts() == (4, 4)


def test_a_run_of_an_earlier_comparison_is_adopted_though_it_holds_its_folder(outcomes_of):
    outcomes, executor = outcomes_of(), AtOnce()
    executor.adopt = lambda runs: executor.start(runs[0])
    with run_folder.locked(next(outcomes.waiting()).folder):
        running.run_all(outcomes, executor, Silent(lambda: None))
    assert outcomes.counts() == (4, 4)


@pytest.mark.slow
def test_500_runs_are_scheduled_in_a_twentieth_of_runs_of_a_second(comparison_of, tmp_path):
    changes = {"adaptations": ["fine_tuning", "feature_extraction"], "seeds": 248}
    outcomes = Outcomes(comparison_of(learning_rates=[1e-3, 1e-4], **changes), tmp_path / "out")
    started = time.process_time()
    with Display("test") as display:
        running.run_all(outcomes, AtOnce(), display)
    assert outcomes.counts() == (500, 500)
    assert time.process_time() - started < 0.05 * 500


@pytest.mark.parametrize("held", [0, 1])
def test_a_run_that_another_process_holds_is_one_of_the_jobs(
    outcomes_of, tmp_path, monkeypatch, held
):
    outcomes = outcomes_of()
    monkeypatch.setattr(LocalExecutor, "poll_seconds", 0)
    at_work, most, finished = [], [], []

    def start(run, threads, gpus):
        run.folder.mkdir(parents=True, exist_ok=True)
        at_work.append(run.folder)
        most.append(len(at_work))
        return Quick(run, at_work)

    monkeypatch.setattr(local, "_start", start)
    orphan = run_folder.locked(next(outcomes.waiting()).folder)

    def one_more():
        finished.append(len(at_work))
        if held and len(finished) == 2:  # the others are done: the orphan comes to its end
            orphan.__exit__(None, None, None)

    if held:
        orphan.__enter__()
    executor = LocalExecutor([None, None], 1, tmp_path)
    running.run_all(outcomes, executor, Silent(one_more))
    assert max(most) == 2 - held
    assert len(finished) == 4  # three trials, and the seed with the chosen rate
    assert next(outcomes.waiting(), None) is None


def test_a_process_stays_with_its_cell_and_a_new_one_takes_an_untouched_cell(outcomes_of):
    outcomes = outcomes_of(["fine_tuning", "feature_extraction"])
    tuned, frozen = outcomes.comparison.cells
    waiting = list(outcomes.waiting())
    first, second, _, other = waiting[:4]
    assert (first.cell, second.cell, other.cell) == (tuned, tuned, frozen)
    worker = Worker(process=None, run=first)
    executor = LocalExecutor([None, None], 1, Path())
    executor.idle = [worker]
    assert executor.choice(waiting[1:]) == second
    executor.idle, executor.at_work = [], [worker]
    assert executor.choice(waiting[1:]) == other
    assert executor.choice([second]) == second


def test_threads_of_a_process_are_those_of_the_comparison(outcomes_of, monkeypatch):
    started = {}
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "7")
    monkeypatch.setattr(local.subprocess, "Popen", lambda command, **given: started.update(given))
    local._start(next(outcomes_of().waiting()), 2)
    names = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    assert [started["env"][name] for name in names] == ["2", "2"]


def test_each_process_at_a_time_sees_gpus_of_its_own(outcomes_of, tmp_path, monkeypatch):
    outcomes = outcomes_of(["fine_tuning", "feature_extraction"])
    seen = tmp_path / "seen.txt"
    printing = (
        "import os, sys\n"
        "names = 'CUDA_VISIBLE_DEVICES', 'TF_FORCE_GPU_ALLOW_GROWTH'\n"
        f"open({str(seen)!r}, 'a').write(' '.join(map(os.environ.get, names)) + '\\n')\n"
        "sys.stdin.read()"
    )
    start = subprocess.Popen
    command = [sys.executable, "-c", printing]
    monkeypatch.setattr(local.subprocess, "Popen", lambda _, **given: start(command, **given))
    executor = LocalExecutor(["0", "1"], 1, tmp_path)
    first, *others = outcomes.waiting()

    def seen_after(run) -> list[str]:
        before = len(seen.read_text().splitlines()) if seen.exists() else 0
        executor.start(run)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            lines = seen.read_text().splitlines() if seen.exists() else []
            if len(lines) > before:
                return lines
            time.sleep(0.05)
        raise AssertionError("the process printed nothing")

    assert seen_after(first) == ["0 true"]
    second = executor.choice(others)
    assert seen_after(second) == ["0 true", "1 true"] and executor.room == 0
    # The first is finished: its process, which is idle, gives its GPU to one of another cell.
    assert executor.ended(lambda run: run == first) == [(first, 0)]
    third = next(run for run in others if run.cell == second.cell and run != second)
    assert seen_after(third) == ["0 true", "1 true", "0 true"]
    executor.stop()


def test_a_worker_does_what_it_is_told_until_one_fails(tmp_path):
    logs = [tmp_path / f"{number}.log" for number in range(3)]
    missing = ["train", str(tmp_path / "missing.yaml"), "--out", str(tmp_path / "run")]
    lines = [["--version"], missing, ["--version"]]
    done = subprocess.run(
        [sys.executable, "-m", "tf_adapt.commands.worker"],
        input="".join(
            json.dumps([line, str(log)]) + "\n" for line, log in zip(lines, logs, strict=True)
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ConfigError.exit_code
    assert (done.stdout, done.stderr) == ("", "")
    assert logs[0].read_text() == f"tf-adapt, version {__version__}\n"
    assert logs[1].read_text().startswith("ConfigError: ")
    assert not logs[2].exists()


def test_a_worker_that_is_told_nothing_ends(tmp_path):
    worker = [sys.executable, "-m", "tf_adapt.commands.worker"]
    assert subprocess.run(worker, stdin=subprocess.DEVNULL, check=False).returncode == 0


def test_all_workers_are_ended_whether_at_work_or_idle(tmp_path):
    executor = LocalExecutor([None] * 3, 1, tmp_path)
    processes = [subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE) for _ in range(3)]
    executor.at_work = [Worker(process, None, None) for process in processes[:2]]
    executor.idle = [Worker(processes[2], None, None)]
    executor.stop()
    assert [process.returncode for process in processes] == [-signal.SIGTERM] * 3


def test_a_process_that_a_signal_ended_is_named_with_what_to_do():
    with pytest.raises(TrainingError, match="cell a: its process was ended by signal 9; .*--jobs"):
        running.check_ended("cell a", -9, "")
