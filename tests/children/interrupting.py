"""Run by test_interruption.py: trains again and again, each time killed, until a run gets through.

Imports TensorFlow once and forks for every attempt, before TensorFlow has started anything, so that
an attempt costs a training and not an import. Prints one JSON object.

Usage: interrupting.py CONFIG OUT KILLS SEED WAY SECONDS, where WAY is `random`: KILLS are killed,
at random moments of a run of SECONDS; `renames`: attempt n dies at its n-th rename, before or after
it in turn; `steps`: KILLS are interrupted from the keyboard, in an epoch; `phases`: attempt n is
killed in phase n + 1 of its adaptation; or `each`: two die at renames, one is asked to stop in an
epoch, and KILLS are killed in one.
"""

import functools
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable

import tensorflow as tf  # noqa: F401  # imported before the fork
import tensorflow_text  # noqa: F401

import tf_adapt.training.train  # noqa: F401
from hub_modules.storage import files
from tf_adapt.commands.main import cli
from tf_adapt.training.steps import Steps

DIED = 9
PATIENCE_SECONDS = 120


def attempt(config: str, out: str, prepare: Callable[[], None] = lambda: None) -> int:
    """Starts a training in a child process, which is prepared first; returns its pid."""
    child = os.fork()
    if child:
        return child
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal
    prepare()
    log = os.open(f"{out}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        cli(["train", config, "--out", out], prog_name="tf-adapt")
    except SystemExit as ended:
        os._exit(ended.code)
    os._exit(99)


def at_call(owner, name: str, number: int, act: Callable[[], None], after: bool = False) -> None:
    """Acts at the given call of a function: before it or after it."""
    function, done = getattr(owner, name), 0

    def counting(*args, **kwargs):
        nonlocal done
        done += 1
        if done == number and not after:
            act()
        function(*args, **kwargs)
        if done == number and after:
            act()

    setattr(owner, name, counting)


def die_at_rename(number: int) -> None:
    """Ends the process at the given rename: before it if the number is odd, else after it."""
    at_call(files, "rename", number, lambda: os._exit(DIED), after=number % 2 == 0)


def signal_at_step(number: int, name: str, sent: str) -> None:
    """Sends the process a signal at the end of the given step; its time goes into a file."""

    def send():
        with open(sent, "w", encoding="utf-8") as file:
            file.write(str(time.monotonic()))
        os.kill(os.getpid(), getattr(signal, name))

    at_call(Steps, "on_train_batch_end", number, send)


def wait(child: int, seconds: float) -> int | None:
    """Exit code of the child (negative: the signal it died of), or None if it still runs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    return None


def interrupted_at_random(config: str, out: str, kills: int, seed: int, seconds: float) -> dict:
    """Kills attempts after random times."""
    generator = random.Random(seed)
    moments, codes = [], []
    for _ in range(kills):
        child = attempt(config, out)
        moments.append(round(generator.uniform(0.2, 0.5) * seconds, 3))
        code = wait(child, moments[-1])
        if code is None:
            os.kill(child, signal.SIGKILL)
            code = wait(child, PATIENCE_SECONDS)
        codes.append(code)
    return {"codes": codes, "moments": moments}


def interrupted_at_renames(config: str, out: str, kills: int) -> dict:
    """Attempt n dies at rename n."""
    codes = []
    for number in range(1, kills + 1):
        child = attempt(config, out, functools.partial(die_at_rename, number))
        codes.append(wait(child, PATIENCE_SECONDS))
        if codes[-1] == 0:
            break
    return {"codes": codes}


def interrupted_at_steps(config: str, out: str, signals: list[str]) -> dict:
    """Each attempt gets one of the signals at its fifth step."""
    codes, seconds_to_end = [], []
    for name in signals:
        child = attempt(config, out, functools.partial(signal_at_step, 5, name, f"{out}.sent"))
        codes.append(wait(child, PATIENCE_SECONDS))
        with open(f"{out}.sent", encoding="utf-8") as file:
            seconds_to_end.append(round(time.monotonic() - float(file.read()), 2))
    return {"codes": codes, "seconds_to_end": seconds_to_end}


def interrupted_in_each_way(config: str, out: str, kills: int) -> dict:
    """Two attempts die at renames, one is asked to stop, and the others are killed."""
    renames = interrupted_at_renames(config, out, 2)
    steps = interrupted_at_steps(config, out, ["SIGTERM", *kills * ["SIGKILL"]])
    return {**steps, "codes": renames["codes"] + steps["codes"]}


def interrupted_in_phases(config: str, out: str, kills: int) -> dict:
    """Attempt n is killed once the run has said n + 1 times what it trains now."""
    codes, phases = [], []
    for number in range(1, kills + 1):
        child = attempt(config, out)
        end = time.monotonic() + PATIENCE_SECONDS
        while len(phases) <= number and time.monotonic() < end:
            time.sleep(0.01)
            phases = list(dict.fromkeys(_lines(f"{out}.log", "now training")))
        os.kill(child, signal.SIGKILL)
        codes.append(wait(child, PATIENCE_SECONDS))
    return {"codes": codes, "phases": phases}


def _lines(path: str, start: str) -> list[str]:
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as log:
        return [line for line in log.read().splitlines() if line.startswith(start)]


def main() -> None:
    config, out, kills, seed, way, seconds = sys.argv[1:]
    kills = int(kills)
    ways = {
        "random": lambda: interrupted_at_random(config, out, kills, int(seed), float(seconds)),
        "renames": lambda: interrupted_at_renames(config, out, kills),
        "steps": lambda: interrupted_at_steps(config, out, kills * ["SIGINT"]),
        "phases": lambda: interrupted_in_phases(config, out, kills),
        "each": lambda: interrupted_in_each_way(config, out, kills),
    }
    result = ways[way]()
    started = time.monotonic()
    result["codes"].append(wait(attempt(config, out), PATIENCE_SECONDS))  # left alone
    result["seconds"] = time.monotonic() - started
    print(json.dumps(result))


if __name__ == "__main__":
    main()
