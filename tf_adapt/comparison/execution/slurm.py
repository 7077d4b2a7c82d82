"""Executes runs as jobs of a Slurm cluster, by submitit.

The folder of the comparison, the data and the modules are on a file system that all nodes share. A
job is one run in a process of its own (`slurm_job`); runs that are started together are an array.
What a job was and how it ended is in files beside the run's log, so that a comparison that is begun
again waits for the jobs that are still there: `RUN.slurm` has its number, `RUN.exit` its exit code.
"""

import getpass
import json
import math
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub_modules.storage.files import write_text
from tf_adapt.comparison.execution.late_results import LateResults
from tf_adapt.comparison.execution.node_process import GRACE_SECONDS
from tf_adapt.comparison.execution.runs import CellRun, log_of
from tf_adapt.comparison.execution.slurm_job import Call, RunAsJob
from tf_adapt.errors import ConfigError, TrainingError
from tf_adapt.printing.words import did_you_mean

# A job that is in no queue and has left no exit code so long is lost: files appear late on a file
# system that is shared.
LOST_SECONDS = 60.0
MOST_LOST = 3  # times a run is submitted again that has saved nothing since
# Slurm says that a job's time is over up to a minute earlier than asked; a run begins in another.
EARLY_SECONDS, BEGINNING_SECONDS = 60, 60
# A run may reach its time limit so often: it goes on from its checkpoint each time.
MOST_TIMEOUTS = 100
# Options that we set, and what to do in their place.
_OURS = {
    "cpus_per_task": "set compare.threads, which are the cores of a run",
    "stderr_to_stdout": "leave it out: the log of a run has both",
}
# More of either would start a run several times, in one folder.
_AT_MOST_ONE = ("nodes", "ntasks_per_node")
_IN_PYTHON = "in ta.compare(slurm=)"
# The type of options that are neither a text nor a number as sbatch takes it.
_TYPES = {
    "time": (int, "a whole number of minutes"),
    **dict.fromkeys(
        ("nodes", "ntasks_per_node", "signal_delay_s", "array_parallelism"), (int, "a whole number")
    ),
    **dict.fromkeys(("setup", "teardown", "srun_args"), (list, f"a list of texts {_IN_PYTHON}")),
    "additional_parameters": (dict, f"a dict {_IN_PYTHON}"),
    "use_srun": (bool, f"True or False {_IN_PYTHON}"),
}


@dataclass
class Job:
    """A job in the queue.

    Attributes:
        number: `12`, or `12_3` of an array.
        gone_since: when it was first in no queue; None: it is in one.
    """

    run: CellRun
    number: str
    gone_since: float | None = None


class SlurmExecutor:
    """A Slurm cluster.

    Args:
        options: of submitit's `SlurmExecutor.update_parameters`: partition, time (minutes), …
        most: jobs at a time.
        gpus_per_run: a whole number; None: jobs ask for none.
        threads: of each run, which are its cores.
        cache: folder of the features of frozen encoders.

    Raises:
        ConfigError: submitit or Slurm is not there; an option that there is not, that is ours or
            of another type; there is no time, or too little.
    """

    poll_seconds = 5.0
    waits_for = None

    def __init__(
        self,
        options: Mapping[str, Any],
        most: int,
        gpus_per_run: float | None,
        threads: int,
        cache: Path,
    ):
        self.options = _checked(options) | {"cpus_per_task": threads}
        if gpus_per_run is not None and gpus_per_run != int(gpus_per_run):
            raise ConfigError(
                "--gpus-per-run: expected a whole number with --slurm, whose jobs share no GPU, "
                f"got {gpus_per_run:g}"
            )
        if gpus_per_run:
            self.options = {"gpus_per_node": int(gpus_per_run)} | self.options
        self.most, self.threads, self.cache = most, threads, cache
        self.jobs: list[Job] = []
        self.collected: list[CellRun] = []
        self.late = LateResults()
        self.lost: dict[Path, tuple[set[str], int]] = {}

    @property
    def running(self) -> list[CellRun]:
        """The runs in the queue, and those whose result is not seen yet."""
        return [*(job.run for job in self.jobs), *self.collected, *self.late.runs]

    @property
    def room(self) -> int:
        """Jobs that may be submitted."""
        return self.most - len(self.jobs) - len(self.collected)

    def choice(self, waiting: Sequence[CellRun]) -> CellRun:
        """The first."""
        return waiting[0]

    def adopt(self, runs: Sequence[CellRun]) -> None:
        """Waits for the jobs of an earlier comparison."""
        found = [
            Job(run, number)
            for run in {run.folder: run for run in runs}.values()
            if _read(_exit_file(run)) is None and (number := _read(_job_file(run))) is not None
        ]
        queue = _queue() if found else None
        self.jobs += [job for job in found if queue is None or job.number in queue]

    def start(self, run: CellRun) -> None:
        """Collects the run for the next array."""
        self.collected.append(run)

    def flush(self) -> None:
        """Submits what was collected, as an array."""
        if not self.collected:
            return
        runs, self.collected = self.collected, []
        calls = [str(_written_call(run, self.threads, self.cache)) for run in runs]
        submitted = self._submit(runs[0].out / "slurm", calls)
        for run, job in zip(runs, submitted, strict=True):
            write_text(_job_file(run), job.job_id + "\n")
            self.jobs.append(Job(run, job.job_id))

    def ended(self, is_finished: Callable[[CellRun], bool]) -> list[tuple[CellRun, int]]:
        """The runs whose job has left an exit code. A job that is lost is submitted again."""
        queue = _queue()
        for job in list(self.jobs):
            code = _read(_exit_file(job.run))
            if code is not None:
                self.jobs.remove(job)
                self.late.add(job.run, int(code))
            elif queue is not None and self._is_lost(job, queue):
                self.jobs.remove(job)
                if is_finished(job.run):
                    self.late.add(job.run, 0)
                else:
                    self._again(job.run)
        return self.late.seen(is_finished)

    def stop(self) -> None:
        """Cancels all jobs: each gets SIGTERM, which saves its run's state, and some time."""
        numbers = {job.number for job in self.jobs}
        self.jobs.clear()
        if numbers:
            subprocess.run(["scancel", *numbers], check=False, capture_output=True)
        deadline = time.monotonic() + GRACE_SECONDS
        while numbers & (_queue() or set()) and time.monotonic() < deadline:
            time.sleep(1.0)

    def _submit(self, folder: Path, calls: list[str]) -> list:
        import submitit
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        folder.mkdir(parents=True, exist_ok=True)
        executor = submitit.SlurmExecutor(folder, max_num_timeout=MOST_TIMEOUTS)
        # A job whose node is lost begins again, in the same folder.
        options = {"requeue": True} | self.options.get("additional_parameters", {})
        shared = {"array_parallelism": self.most, "job_name": "tf_adapt"}
        executor.update_parameters(
            **shared | self.options, additional_parameters=options, stderr_to_stdout=True
        )
        try:
            return executor.map_array(RunAsJob(), calls)
        except (FailedJobError, FailedSubmissionError) as error:
            detail = " ".join(str(error).split())
            raise ConfigError(
                f"--slurm: sbatch refuses the jobs: {detail}; see `sbatch --help` for what the "
                "options mean"
            ) from None

    def _is_lost(self, job: Job, queue: set[str]) -> bool:
        if job.number in queue:
            job.gone_since = None
            return False
        job.gone_since = job.gone_since or time.monotonic()
        return time.monotonic() - job.gone_since > LOST_SECONDS

    def _again(self, run: CellRun) -> None:
        saved = {path.name for path in (run.folder / "checkpoint").glob("*")}
        before, times = self.lost.get(run.folder, (saved, 0))
        times = times + 1 if saved == before else 1
        self.lost[run.folder] = saved, times
        if times > MOST_LOST:
            raise TrainingError(
                f"run {run.folder}: its job was lost {times} times, with nothing saved; see "
                f"{run.out / 'slurm'} and {run.log}"
            )
        self.collected.append(run)


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    try:
        from submitit.slurm import slurm
    except ImportError:
        raise ConfigError(
            "--slurm needs submitit, which is not installed: `pip install 'tf_adapt[slurm]'`"
        ) from None
    if slurm.SlurmExecutor.affinity() < 0:
        raise ConfigError("--slurm: expected a machine with Slurm's commands, got none (no srun)")
    known = slurm._get_default_parameters()
    for key, value in options.items():
        if key not in known:
            raise ConfigError(
                f"--slurm: {key}: expected one of {', '.join(known)}, got {key!r}"
                f"{did_you_mean(str(key), known)}"
            )
        if key in _OURS:
            raise ConfigError(
                f"--slurm: {key}: expected no such option, got {value!r}; {_OURS[key]}"
            )
        kind, in_words = _TYPES.get(key, (type(value), ""))
        if type(value) is not kind:
            raise ConfigError(f"--slurm: {key}: expected {in_words}, got {value!r}")
        if key in _AT_MOST_ONE and value != 1:
            raise ConfigError(f"--slurm: {key}: expected 1, a job is one run, got {value!r}")
    if "time" not in options:  # submitit would ask for 5 minutes
        raise ConfigError(
            "--slurm: time: expected the minutes that a job may take, such as time=120, got none; "
            "a run that takes longer goes on in the next"
        )
    delay = options.get("signal_delay_s", known["signal_delay_s"])
    shortest = math.ceil((delay + EARLY_SECONDS + BEGINNING_SECONDS) / 60)
    if options["time"] < shortest:
        raise ConfigError(
            f"--slurm: time: expected at least {shortest} minutes, got {options['time']}: a run "
            f"saves its state signal_delay_s={delay} seconds before the end, and gets nowhere"
        )
    return dict(options)


def _queue() -> set[str] | None:
    """The numbers of the user's jobs in the queue; None: it cannot be asked now."""
    command = ["squeue", "--noheader", "--array", "--format=%i", f"--user={getpass.getuser()}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return set(done.stdout.split()) if done.returncode == 0 else None


def _written_call(run: CellRun, threads: int, cache: Path) -> Path:
    """The file with the command of a run, for its job."""
    with log_of(run):
        path = run.folder.with_suffix(".call")
        call = Call(run.arguments(cache), str(run.log), str(_exit_file(run)), threads)
        _exit_file(run).unlink(missing_ok=True)
        write_text(path, json.dumps(vars(call)) + "\n")
    return path


def _job_file(run: CellRun) -> Path:
    return run.folder.with_suffix(".slurm")


def _exit_file(run: CellRun) -> Path:
    return run.folder.with_suffix(".exit")


def _read(path: Path) -> str | None:
    try:
        return path.read_text("ascii").strip() or None
    except OSError:
        return None
