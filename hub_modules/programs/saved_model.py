"""Foreign SavedModels as programs: loaded here only after a trial in a child process."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import tensorflow as tf

from hub_modules.errors import ArtifactError
from hub_modules.native.kernels.custom_gradients import loaded_with_gradients
from hub_modules.programs.trusted import is_known
from hub_modules.storage.limits import LOAD_TIMEOUT, limit_seconds

_LONGEST_MESSAGE = 2000


def restore_program(saved_model: Path, content: str, kind: str):
    """Loads a trusted program; one that is not known yet is tried in a child process first.

    Args:
        saved_model: its folder.
        content: the hash that decides whether it is known (`hub_modules.programs.trusted`).
        kind: "encoder", "preprocess" or "export": selects the trial call.

    Raises:
        ArtifactError: it is damaged, hangs, crashes or fails.
        ConfigError: TF_ADAPT_LOAD_TIMEOUT is not a positive number.
    """
    if not is_known(content):
        try_out(saved_model, kind)
    return restore(saved_model)


def restore(saved_model: Path):
    """Loads a SavedModel with `tf.saved_model.load`.

    Raises:
        ArtifactError: it is damaged.
    """
    import tensorflow_text  # noqa: F401  # registers the ops of preprocessing modules

    try:
        # A TF1 module of the Hub has no tags, which the loader must know.
        tags = [] if is_tf1(saved_model) else None
        return loaded_with_gradients(lambda: tf.saved_model.load(str(saved_model), tags=tags))
    except Exception as error:
        # A damaged SavedModel surfaces as OSError, ValueError, IndexError or a TensorFlow error.
        raise ArtifactError(
            f"module {saved_model}: cannot be loaded as a SavedModel "
            f"({' '.join(str(error).split())[:120]}); fetch, install or convert it again"
        ) from error


def is_tf1(saved_model: Path) -> bool:
    """Whether a SavedModel is of TF Hub's first format."""
    return (saved_model / "tfhub_module.pb").is_file()


def try_out(saved_model: Path, kind: str) -> None:
    """Loads and calls a program in a child process, on the CPU; see `hub_modules.programs.trial`.

    Raises:
        ArtifactError: it does not load, crashes, or takes longer than TF_ADAPT_LOAD_TIMEOUT.
        ConfigError: TF_ADAPT_LOAD_TIMEOUT is not a positive number.
    """
    seconds = limit_seconds(LOAD_TIMEOUT)
    # -P: no imports from the current folder. PYTHONPATH: this project may not be installed.
    command = [
        sys.executable,
        "-P",
        "-m",
        "hub_modules.programs.trial",
        kind,
        os.fspath(saved_model),
    ]
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    with tempfile.TemporaryFile() as verdict:
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        keep = {"pass_fds": [verdict.fileno()], "env": environment}
        with subprocess.Popen([*command, str(verdict.fileno())], **quiet, **keep) as child:
            try:
                code = child.wait(seconds)
            except subprocess.TimeoutExpired:
                raise ArtifactError(
                    f"module {saved_model}: it did not load within {seconds:g} seconds in a "
                    "process of its own, which was stopped; a program that does not end cannot be "
                    f"used; where it is only slow, set {LOAD_TIMEOUT} to more seconds"
                ) from None
            finally:
                child.kill()
        verdict.seek(0)
        message = verdict.read(_LONGEST_MESSAGE).decode("utf-8", "replace")
    if code < 0:
        raise ArtifactError(
            f"module {saved_model}: it crashes the process that loads it "
            f"({_signal_name(-code)}), so it cannot be used; get it again from its maker"
        )
    if code:
        raise ArtifactError(
            message or f"module {saved_model}: its trial ended with exit code {code}"
        )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
