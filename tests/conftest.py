"""Fixtures for every test: where the shared data, models and recorded numbers are."""

import contextlib
import ctypes
import gc
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tf_adapt.commands.lean_start import start_lean

pytest_plugins = ["measured"]

# What tests trust is recorded in no home folder; child processes inherit it. Workers of one run
# share the folder of the process that started them.
_STATE = "TF_ADAPT_TESTS_STATE"
# What `_once` wrote; further processes may share it, but not each other's trust.
_MADE = "TF_ADAPT_TESTS_MADE"


def pytest_configure(config):
    if _STATE not in os.environ:
        os.environ[_STATE] = tempfile.mkdtemp(prefix="tf_adapt_tests_")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(_STATE), ignore_errors=True))
    os.environ["XDG_STATE_HOME"] = os.environ[_STATE]
    os.environ.setdefault(_MADE, os.path.join(os.environ[_STATE], "made"))
    start_lean()  # as the commands
    # oneDNN keeps the memory of all tensors that were freed, which grows with each model.
    os.environ.setdefault("TF_ONEDNN_USE_SYSTEM_ALLOCATOR", "1")
    # A thread of NumPy that waits for another one is busy, while two processes share the cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A shell has its background jobs ignore Ctrl-C, and every child would inherit that.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    """What is imported by now stays: the collector, which runs often, need not look at it again."""
    _give_memory_back()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef, request):
    """The same draws in each fixture and each test, whatever ran before."""
    _seed()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    """As for fixtures."""
    _seed()


def _seed() -> None:
    """Keras draws its seeds from Python's; TensorFlow's own would reset kernels with resources."""
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)


@pytest.fixture(autouse=True, scope="module")
def forgotten_graphs():
    """Frees what a module's models held: the graphs of all tests together fill the memory."""
    yield
    if "keras" in sys.modules:
        sys.modules["keras"].utils.clear_session()
        _forget_gradients()
        _give_memory_back()


# Models are cycles, which Python looks for by their number, not by the size of their graphs.
_LITTER_MB = 64
_resident_after = [0]


def pytest_runtest_logfinish():
    """Frees the models of a test before those of the next one are beside them."""
    if _resident() > _resident_after[-1] + _LITTER_MB:
        _give_memory_back()


def _forget_gradients() -> None:
    """TensorFlow keeps the gradient of each `tf.custom_gradient` in a graph, and with it the graph.
    Ours are freed with their models; Keras has one in each model that is trained."""
    registry = sys.modules["tensorflow.python.framework.ops"].gradient_registry._registry
    for name in [name for name in registry if name.startswith("CustomGradient-")]:
        del registry[name]


def _give_memory_back() -> None:
    """What was freed stays with the process otherwise, where the C library has a say in it."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    _resident_after[:] = [_resident()]


def _resident() -> int:
    """MB now; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return 0
    return pages * resource.getpagesize() // 2**20


@pytest.fixture
def nothing_trusted(tmp_path, monkeypatch) -> Path:
    """A user who has trusted and written nothing yet; the file of his record."""
    from hub_modules.programs import trusted

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(trusted, "_here", set())
    return tmp_path / "state" / "tf_adapt" / "trusted_programs"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real datasets and pretrained weights (TF_ADAPT_SHARED)."""
    folder = os.environ.get("TF_ADAPT_SHARED")
    if not folder:
        _not_at_hand("TF_ADAPT_SHARED is not set: real data and weights are not at hand")
    return Path(folder)


@pytest.fixture(scope="session")
def reference() -> Path:
    """What other implementations computed (TF_ADAPT_REFERENCE, TF_ADAPT_SHARED/reference)."""
    folder = os.environ.get("TF_ADAPT_REFERENCE")
    if folder:
        return Path(folder)
    shared_folder = os.environ.get("TF_ADAPT_SHARED")
    if not shared_folder:
        _not_at_hand("neither TF_ADAPT_REFERENCE nor TF_ADAPT_SHARED is set")
    return Path(shared_folder) / "reference"


def _not_at_hand(reason: str) -> None:
    """Skips, except in CI, where a skipped test would look like a passed one."""
    if os.environ.get("TF_ADAPT_REQUIRE_SHARED"):
        pytest.fail(reason)
    pytest.skip(reason)


def _once(name: str, write: Callable[[Path], object]) -> Path:
    """A folder that the first process that needs it writes for all. Nobody changes it."""
    folder = Path(os.environ[_MADE]) / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(dir=folder.parent)) / name
        write(aside)
        with contextlib.suppress(OSError):  # another process was faster
            aside.rename(folder)
    return folder


def _trusted(folder: Path) -> Path:
    """The folder, whose programs are those of this user, whichever process wrote them."""
    from hub_modules.manifest import module_hash
    from hub_modules.programs.trusted import remember

    for manifest in folder.rglob("manifest.json"):
        remember(module_hash(manifest.parent))
    return folder


def _tiny(family: str):
    """A module folder of random weights, small enough to train in a second.

    Its SavedModel holds the weights only, so it runs natively, not as a black box.
    """

    @pytest.fixture(scope="session", name=f"tiny_{family}")
    def module() -> Path:
        import random_modules

        return _once(f"tiny_{family}", getattr(random_modules, f"write_tiny_{family}"))

    return module


tiny_bert, tiny_causal, tiny_modern_bert = map(_tiny, ("bert", "causal", "modern_bert"))
tiny_mpnet, tiny_lstm, tiny_elmo = map(_tiny, ("mpnet", "lstm", "elmo"))


def _shallow(family: str):
    """As `tiny_…`, but of one layer, which is traced faster: for what is not about layers."""

    @pytest.fixture(scope="session", name=f"shallow_{family}")
    def module() -> Path:
        import random_modules

        write = getattr(random_modules, f"write_tiny_{family}")
        return _once(f"shallow_{family}", lambda folder: write(folder, num_layers=1))

    return module


shallow_bert, shallow_causal = map(_shallow, ("bert", "causal"))


@pytest.fixture(scope="session")
def tiny_program(tiny_bert) -> Path:
    """As `tiny_bert`, but written as modules are: with its program."""
    from random_modules import write_tiny_program

    return _trusted(_once("tiny_program", lambda folder: write_tiny_program(folder, tiny_bert)))


@pytest.fixture(scope="session")
def finished_run(shallow_bert, tmp_path_factory):
    """Kind of task → the folder of a finished run of `shallow_bert`, trained for one epoch on 24
    examples of the sample; of this process. Read it; `shutil.copytree` it to change it."""
    copied = tmp_path_factory.mktemp("finished")

    def run_of(kind: str = "classification") -> Path:
        if not (copied / kind).exists():
            shutil.copytree(_trained(kind, shallow_bert), copied / kind)
        return copied / kind

    return run_of


@pytest.fixture(scope="session")
def finished_export(shallow_bert, tmp_path_factory):
    """Kind of task → the export of that kind's `finished_run`."""
    copied = tmp_path_factory.mktemp("exports")

    def export_of(kind: str = "classification") -> Path:
        if not (copied / kind).exists():
            from tf_adapt.training.finished.run_export import export_run

            run = _trained(kind, shallow_bert)
            exports = _once(f"export_{kind}", lambda folder: export_run(run, folder))
            _trusted(shutil.copytree(exports, copied / kind))
        return copied / kind / "1"

    return export_of


def _trained(kind: str, module: Path) -> Path:
    from tf_adapt.config.reading import config_from
    from tf_adapt.training.train import train

    config = config_from(_config_of(kind, module), kind)
    return _once(f"run_{kind}", lambda folder: train(config, folder))


def _config_of(kind: str, module: Path) -> dict:
    return {
        "data": {"dataset": f"sample_{kind}", "source": "sample", "train_examples": 24},
        "encoder": {"handle": str(module)},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-2},
    }
