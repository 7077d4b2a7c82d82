"""Trains counter-runs, each `tf-adapt train` of the run's own config with other settings."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hub_modules.storage.files import sha256, write_text
from hub_modules.storage.machine import thread_variables
from tf_adapt.comparison.execution.local import GRACE_SECONDS, LocalExecutor
from tf_adapt.comparison.execution.running import check_ended
from tf_adapt.config.reading import dump_config
from tf_adapt.config.sections import Config
from tf_adapt.errors import TrainingError
from tf_adapt.runs import run_folder


def counter_folder(home: Path, name: str, config: Config, overrides: Sequence[str]) -> Path:
    """The folder of a counter-run: that of another run, of other settings or of other data, which
    are in the folder `name`, is another one, so that none is mistaken."""
    files = {path.name: sha256(path) for path in sorted((home / name).glob("*"))}
    content = json.dumps([dump_config(config), list(overrides), files])
    return home / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


class Trainer:
    """Trains runs one after another in a process that loads TensorFlow once, as a context manager.

    Args:
        threads: of the process.
    """

    def __init__(self, threads: int = 1):
        self.threads = threads
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> "Trainer":
        return self

    def __exit__(self, *error) -> None:
        """Ends the process; a run that it is at saves its state."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def train(self, config: Path, overrides: Sequence[str], folder: Path) -> dict[str, Any] | None:
        """The `metrics.json` of a run, which is trained unless it has finished; None: it diverged.

        Raises:
            TfAdaptError: it failed for another reason than divergence.
        """
        log, failure = folder.with_suffix(".log"), folder.with_suffix(".failed")
        if failure.is_file():
            return None
        metrics = run_folder.finished_metrics(folder)
        if metrics is not None:
            return metrics
        arguments = ["train", str(config), "--out", str(folder)]
        arguments += [part for override in overrides for part in ("--set", override)]
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        process = self._running()
        process.stdin.write((json.dumps([arguments, str(log)]) + "\n").encode())
        while metrics is None and process.poll() is None:
            time.sleep(LocalExecutor.poll_seconds)
            metrics = run_folder.finished_metrics(folder)
        if metrics is not None:
            return metrics
        text = log.read_text("utf-8", "replace")
        if process.returncode == TrainingError.exit_code:
            write_text(failure, text)
            return None
        check_ended(f"counter-run {folder}", process.returncode or 1, text)
        return None

    def _running(self) -> subprocess.Popen:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                # -P: do not import from the current folder, which may hold a click.py.
                [sys.executable, "-P", "-m", "tf_adapt.commands.worker"],
                stdin=subprocess.PIPE,
                bufsize=0,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | thread_variables(self.threads),
                # Ctrl-C reaches only this process, which then ends the other.
                start_new_session=True,
            )
        return self._process
