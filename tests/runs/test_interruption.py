import contextlib
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


NUMBERS = [
    (signal.SIGINT, KeyboardInterrupt),
    (signal.SIGTERM, SystemExit),
    (signal.SIGHUP, SystemExit),
]


@pytest.mark.parametrize(("number", "error"), NUMBERS)
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


@pytest.mark.parametrize(("number", "error"), NUMBERS)
def test_an_error_in_its_place_is_the_interruption(number, error, acting):
    """TensorFlow's stack of graphs answers an exception while it is entered with an error."""
    with pytest.raises(error) as caught, Interruption():
        with contextlib.suppress(error):
            signal.raise_signal(number)
        raise AssertionError("Nesting violated")
    assert isinstance(caught.value.__context__, AssertionError)


def test_an_error_after_a_signal_that_waits_is_itself(acting):
    with pytest.raises(ArithmeticError), Interruption() as interruption:
        interruption.unsaved = True
        signal.raise_signal(signal.SIGTERM)
        raise ArithmeticError


def test_what_swallows_an_interruption_leaves_the_request(acting):
    with Interruption() as interruption:
        with contextlib.suppress(SystemExit):
            signal.raise_signal(signal.SIGTERM)
        assert interruption.requested == signal.SIGTERM


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
