import signal
import threading

import pytest

from tf_adapt.runs.interruption import Interruption, leave


@pytest.fixture
def acting():
    """Signals that the tests' own process ignores, as SIGHUP under nohup, act."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_DFL) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (signal.SIGINT, KeyboardInterrupt),
        (signal.SIGTERM, SystemExit),
        (signal.SIGHUP, SystemExit),
    ],
)
def test_waits_only_where_something_is_unsaved(number, error, acting):
    with pytest.raises(error), Interruption():
        signal.raise_signal(number)
    with Interruption() as interruption:
        interruption.unsaved = True
        signal.raise_signal(number)
        assert interruption.requested == number
        signal.raise_signal(signal.SIGTERM)  # Slurm sends it twice
        assert interruption.requested == number
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_exit_code_of_sigterm():
    with pytest.raises(SystemExit) as caught:
        leave(signal.SIGTERM)
    assert caught.value.code == 143


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with Interruption():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_what_is_ignored_stays_ignored():
    """As SIGHUP under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_may_train():
    requested = []

    def work():
        with Interruption() as interruption:
            requested.append(interruption.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert requested == [None]
