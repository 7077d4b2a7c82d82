"""The commands of Slurm that submitit and we call, with a queue of jobs in other processes.

`install(folder)` puts them into a folder for `PATH`. A job runs its script in a session of its own,
in which signals reach all processes, as in a step of Slurm; `scancel` and `scontrol requeue` end it
by the signals of Slurm 22.05: SIGTERM, SIGCONT, SIGTERM and, later, SIGKILL. `lose` ends a job as a
node that dies does.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = ("sbatch", "scancel", "scontrol", "squeue", "srun")
KILL_SECONDS = 20.0
END = (signal.SIGTERM, signal.SIGCONT, signal.SIGTERM)  # 10 ms from one to the next


def install(folder: Path) -> Path:
    """The folder of the commands, whose queue is in `folder`."""
    binaries = folder / "bin"
    binaries.mkdir(parents=True)
    (folder / "queue").mkdir()
    for name in COMMANDS:
        script = binaries / name
        program = f"{shlex.quote(sys.executable)} {shlex.quote(__file__)} {name} "
        script.write_text(f'#!/bin/sh\nexec {program}{shlex.quote(str(folder / "queue"))} "$@"\n')
        script.chmod(0o755)
    return binaries


def lose(folder: Path, job: str) -> None:
    """Ends a job, which is then in no queue and has left nothing."""
    entry = folder / "queue" / job
    while not (group := int(_content(entry) or 0)):
        time.sleep(0.05)  # it has not begun
    entry.unlink()
    os.killpg(group, signal.SIGKILL)


def sbatch(queue: Path, script: str) -> None:
    """Starts the tasks of an array, or a job."""
    number = 1 + len(list(queue.glob("*.submitted")))
    (queue / f"{number}.submitted").touch()
    array = re.search(r"--array=0-(\d+)", Path(script).read_text())
    tasks = range(int(array[1]) + 1) if array else [None]
    for task in tasks:
        job = f"{number}" if task is None else f"{number}_{task}"
        (queue / job).write_text("0")
        command = [sys.executable, __file__, "node", str(queue), job, script]
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    print(f"Submitted batch job {number}")


def node(queue: Path, job: str, script: str) -> None:
    """Runs a job, again if it is put into the queue again; then takes it out."""
    array, _, task = job.partition("_")
    names = {"SLURM_JOB_ID": array, "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1"}
    names |= {"SLURM_ARRAY_JOB_ID": array, "SLURM_ARRAY_TASK_ID": task} if task else {}
    again = queue / f"{job}.requeue"
    while True:
        # The signal before the end is for the steps of a job, not for its script.
        program = f"trap : USR2; . {shlex.quote(script)}"
        command = ["bash", "-c", program]
        process = subprocess.Popen(command, env=os.environ | names, start_new_session=True)
        if not (queue / job).exists():
            os.killpg(process.pid, signal.SIGKILL)
            return
        (queue / job).write_text(str(process.pid))
        process.wait()
        if not again.exists():
            break
        again.unlink()
    (queue / job).unlink(missing_ok=True)


def scancel(queue: Path, *arguments: str) -> None:
    """Ends jobs, or sends them a signal."""
    sent = [value.partition("=")[2] for value in arguments if value.startswith("--signal=")]
    for job in (value for value in arguments if not value.startswith("--")):
        if sent:
            _signal(queue / job, getattr(signal, f"SIG{sent[0]}"))
        else:
            _end(queue / job, _content(queue / job))


def scontrol(queue: Path, action: str, job: str) -> None:
    """Puts a job into the queue again."""
    assert action == "requeue"
    (queue / f"{job}.requeue").touch()
    before = (queue / job).read_text()
    if os.fork() == 0:  # a job that asks for it itself has a moment to end
        os.setsid()
        time.sleep(1)
        _end(queue / job, before)
        os._exit(0)


def squeue(queue: Path, *_: str) -> None:
    """The jobs in the queue."""
    print("\n".join(path.name for path in queue.iterdir() if "." not in path.name))


def srun(queue: Path, *arguments: str) -> None:
    """The command after `--unbuffered --output FILE`, as a step on this node."""
    _, _, output, *words = arguments
    names = [os.environ.get(f"SLURM_ARRAY_{name}_ID", "") for name in ("JOB", "TASK")]
    for place, value in (("%A", names[0]), ("%a", names[1]), ("%t", "0"),
                         ("%j", os.environ["SLURM_JOB_ID"])):  # fmt: skip
        output = output.replace(place, value)
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.environ |= {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0"}
    os.execvp(words[0], words)


def _content(entry: Path) -> str:
    try:
        return entry.read_text()
    except FileNotFoundError:
        return ""


def _signal(entry: Path, number: int) -> None:
    if int(_content(entry) or 0):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int(entry.read_text()), number)


def _end(entry: Path, before: str) -> None:
    """Ends the process group that an entry had before, unless it has ended by itself."""
    if _content(entry) != before:
        return
    if before in ("", "0"):
        entry.unlink(missing_ok=True)
        return
    for number in END:
        _signal(entry, number)
        time.sleep(0.01)
    deadline = time.monotonic() + KILL_SECONDS
    while _content(entry) == before and time.monotonic() < deadline:
        time.sleep(0.1)
    if _content(entry) == before:
        _signal(entry, signal.SIGKILL)


if __name__ == "__main__":
    name, folder, *rest = sys.argv[1:]
    globals()[name](Path(folder), *rest)
