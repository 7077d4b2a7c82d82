"""Connects to a Ray cluster: finds it, checks that it answers, and says what goes to its nodes."""

import contextlib
import json
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import hub_modules
import tf_adapt
from tf_adapt.errors import ConfigError

AUTO = "auto"
ANSWER_SECONDS = 10.0
# Variables that say where caches are and how libraries behave; none that a dashboard must not show.
_PASSED = ("TF_", "TFHUB_", "TFDS_", "HF_", "KAGGLE", "KERAS_", "XLA_")
_SECRET = re.compile("TOKEN|KEY|SECRET|PASSWORD")
# What a client of HTTP/2 begins with, and the type of the frame that a server answers with.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_SETTINGS = 4
# The shared memory of a cluster of our own: all that tasks return is a number.
_OBJECTS_BYTES = 100_000_000


def cluster_address(asked: str) -> str | None:
    """The address of a cluster that answers; None: with `auto`, none runs.

    `auto` is `RAY_ADDRESS`, else what `ray start` left on this machine. Ray itself would also take
    the private cluster of another program, and would try a dead address for minutes.

    Raises:
        ConfigError: nothing answers at an address that was asked for.
    """
    if asked != AUTO:
        _check_answers("--cluster", asked)
        return asked
    if named := os.environ.get("RAY_ADDRESS"):
        _check_answers("--cluster auto: RAY_ADDRESS", named)
        return named
    started = _started()
    return started if started and _why_silent(started) is None else None


def join(address: str) -> None:
    """Connects to a running cluster, whose nodes may be other machines.

    Raises:
        ConfigError: Ray refuses.
    """
    environment = {"env_vars": _variables()} | _our_code()
    try:
        _init(address=address, runtime_env=_beside_that_of_the_job(environment))
    except ConnectionError:
        raise ConfigError(
            f"--cluster: expected a cluster that takes this machine, got {address}; run the "
            "command on one of its nodes (`ray start --address=HOST:PORT` makes this machine one)"
        ) from None
    except ValueError:  # its text may have all variables of a job
        raise ConfigError(
            f"--cluster: {address}: Ray refuses the runtime environment; leave working_dir, "
            "py_modules and excludes out of the job's own, or set RAY_OVERRIDE_JOB_RUNTIME_ENV=1"
        ) from None
    except RuntimeError as error:  # another version
        why = " ".join(str(error).split())
        raise ConfigError(f"--cluster: {address}: Ray refuses to connect: {why}") from None


def start_own(cpus: int, gpus: int) -> None:
    """Starts a cluster on this machine, which ends with `ray.shutdown`."""
    _init(
        address="local",
        num_cpus=cpus,
        num_gpus=gpus,
        include_dashboard=False,
        object_store_memory=_OBJECTS_BYTES,
        runtime_env={"env_vars": _variables()},
    )


def _started() -> str | None:
    """The address that the last `ray start` on this machine left, which may be over."""
    folder = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"
    try:
        return Path(folder, "ray", "ray_current_cluster").read_text("utf-8").strip() or None
    except OSError:
        return None


def _check_answers(where: str, address: str) -> None:
    if why := _why_silent(address):
        raise ConfigError(
            f"{where}: expected HOST:PORT of a running Ray cluster, or auto, got "
            f"{address or 'nothing'} ({why}); `ray status` on its head names it"
        )


def _why_silent(address: str) -> str | None:
    """Why nothing of Ray is at an address; None: its server (gRPC, which is HTTP/2) answers."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not (host and port.isdecimal()):
        return "no host and port"
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS) as connection:
            if os.environ.get("RAY_USE_TLS") == "1":
                return None
            connection.sendall(_HELLO)
            answer = connection.recv(9)
    except OSError as error:
        return str(error)
    is_server = len(answer) > 3 and answer[3] == _SETTINGS
    return None if is_server else "what answers there is not Ray"


def _init(**options: Any) -> None:
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # its report of its use to others
    with _own_signals():
        ray.init(log_to_driver=False, logging_level="error", **options)


def _variables() -> dict[str, str]:
    passed = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_PASSED) and not _SECRET.search(name)
    }
    return passed | {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}  # a GPU may be shared


def _our_code() -> dict[str, Any]:
    """What Ray brings to the nodes, by its hash."""
    packages = [str(Path(package.__file__).parent) for package in (tf_adapt, hub_modules)]
    return {"py_modules": packages, "excludes": ["**/__pycache__"]}


def _beside_that_of_the_job(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Without the variables of a job that `ray job submit` or KubeRay runs: Ray refuses two
    values."""
    job = json.loads(os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}"))
    given = (job.get("runtime_env") or {}).get("env_vars") or {}
    own = {name: value for name, value in environment["env_vars"].items() if name not in given}
    return {**environment, "env_vars": own}


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keeps the handler of SIGTERM, which `ray.init` replaces by one that saves nothing."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
