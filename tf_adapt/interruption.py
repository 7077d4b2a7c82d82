"""Ctrl-C and SIGTERM during training: finish the step, save, leave."""

import contextlib
import signal
import threading
from collections.abc import Iterator


class Interruption:
    """What a signal asked for, and whether there is anything to save before obeying.

    Attributes:
        unsaved: set while a step's result is not saved yet; without it a signal acts at once.
        requested: number of the signal that waits to be obeyed, or None.
    """

    def __init__(self):
        self.unsaved = False
        self.requested: int | None = None

    def receive(self, number: int, frame) -> None:
        """Signal handler: acts at once where nothing is unsaved, and at the second signal."""
        if self.unsaved and self.requested is None:
            self.requested = number
        else:
            leave(number)


def leave(number: int) -> None:
    """Ends what is running as the signal asks.

    Raises:
        KeyboardInterrupt: for SIGINT.
        SystemExit: for SIGTERM, with 143.
    """
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


@contextlib.contextmanager
def caught_signals() -> Iterator[Interruption]:
    """Receives SIGINT and SIGTERM inside the block; outside the main thread it cannot."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, interruption.receive) for number in numbers}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
