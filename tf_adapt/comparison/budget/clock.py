"""The clock of a comparison within minutes. Imports no TensorFlow."""

import time
from collections.abc import Callable

# Seconds between two writings of what is used, of which a kill loses so many.
KEPT_EVERY = 15.0


class Clock:
    """What is used of the minutes, by this process and by those before it.

    Args:
        minutes: the budget.
        begun: seconds since this process began.
    """

    def __init__(self, minutes: float, begun: float = 0.0):
        self.total = 60.0 * minutes
        self._before = 0.0
        self._started = time.monotonic() - begun
        self._kept = 0.0
        self._keep: Callable[[float], None] = lambda used: None

    def go_on(self, before: float, keep: Callable[[float], None]) -> None:
        """Counts the seconds that processes before have used; `keep` writes those used so far."""
        self._before, self._keep = before, keep

    @property
    def used(self) -> float:
        """Seconds."""
        return self._before + time.monotonic() - self._started

    @property
    def left(self) -> float:
        """Seconds; below 0 after the end."""
        return self.total - self.used

    def tick(self) -> float:
        """`used`, which is written now and then."""
        used = self.used
        if used - self._kept >= KEPT_EVERY:
            self._kept = used
            self._keep(used)
        return used
