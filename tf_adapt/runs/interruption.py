"""Ctrl-C, SIGTERM and a lost terminal: finish the step, save, exit."""

import signal
import threading

_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """A pending signal, and whether there are unsaved steps.

    As a context manager it handles SIGINT, SIGTERM and SIGHUP (the terminal is gone), but none
    that is ignored, as under nohup; outside the main thread it has no effect.

    A signal that acts immediately does so anywhere, also where TensorFlow traces a graph or calls
    Python: what TensorFlow raises in its place leaves the context as the interruption that it is.

    Attributes:
        unsaved: True while a step is not saved yet; otherwise a signal acts immediately.
        requested: number of the first signal, or None.
    """

    def __init__(self):
        self.unsaved = False
        self.requested: int | None = None
        self._acted: int | None = None
        self._before: dict = {}

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            for number in _HANDLED:
                if signal.getsignal(number) == signal.SIG_IGN:
                    continue
                self._before[number] = signal.signal(number, self.receive)
        return self

    def __exit__(self, kind, error, traceback) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._acted is not None and isinstance(error, Exception):
            leave(self._acted)

    def receive(self, number: int, frame) -> None:
        """Signal handler: acts immediately if nothing is unsaved, or at a second Ctrl-C. A second
        SIGTERM asks for the same: Slurm sends two."""
        again = self.requested is not None
        self.requested = self.requested or number
        if not self.unsaved or (again and number == signal.SIGINT):
            self._acted = number
            leave(number)


def leave(number: int) -> None:
    """Ends the process as is usual for the signal.

    Raises:
        KeyboardInterrupt: for SIGINT.
        SystemExit: for the others, with 128 and its number.
    """
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
