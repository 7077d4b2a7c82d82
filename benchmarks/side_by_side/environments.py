"""The Python environments in which children run, and what all of them are told about threads."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHILDREN = ROOT / "benchmarks" / "children"
# On a machine that does other work too: one thread each, and the time of the processor that a
# process took, which says the same whatever else runs.
BUSY = bool(os.environ.get("TF_ADAPT_BUSY_MACHINE"))
THREADS = 1 if BUSY else 2

# Name → variable that names the interpreter (None: our own), what `pip install` puts into it.
ENVIRONMENTS = {
    "ours": (None, "'.[convert,int8,light]'"),
    "pytorch": ("TF_ADAPT_ORACLES_PYTHON", "-r requirements/oracles.txt"),
    "optimum": ("TF_ADAPT_OPTIMUM_PYTHON", "-r requirements/optimum.txt"),
    "setfit": ("TF_ADAPT_SETFIT_PYTHON", "-r requirements/setfit.txt"),
    "addons": ("TF_ADAPT_ADDONS_PYTHON", "-r requirements/addons.txt"),
}

_FIXED_THREADS = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "TF_NUM_INTRAOP_THREADS",
        "TF_NUM_INTEROP_THREADS",
        "RAYON_NUM_THREADS",
    ),
    str(THREADS),
)
_VARIABLES = _FIXED_THREADS | {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TOKENIZERS_PARALLELISM": "true",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


def interpreter(environment: str) -> str | None:
    """The Python of an environment; None where its variable is not set."""
    variable = ENVIRONMENTS[environment][0]
    return os.environ.get(variable) if variable else sys.executable


def variables() -> dict[str, str]:
    """The environment of every child: fixed threads, and this tree before an installed package.

    A GPU is hidden from all of them, unless CUDA_VISIBLE_DEVICES names one.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {"CUDA_VISIBLE_DEVICES": "-1"} | os.environ | _VARIABLES | {"PYTHONPATH": path}


def how_to_install(environment: str) -> str:
    """What to do for an environment that is not there, or lacks a package."""
    variable, installed = ENVIRONMENTS[environment]
    named = f" and name its interpreter in {variable}" if variable else ""
    return f"not installed: pip install {installed}{named}"


def use_two_cores() -> str:
    """Binds this process and its children to as many cores as there are threads; says which."""
    if BUSY or not hasattr(os, "sched_setaffinity"):
        return "not bound to cores"
    cores = sorted(os.sched_getaffinity(0))[:THREADS]
    os.sched_setaffinity(0, cores)
    return f"bound to cores {', '.join(map(str, cores))}"
