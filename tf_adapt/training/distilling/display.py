"""The progress bar of a distillation, with its losses; plain lines if there is no terminal."""

import time

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tf_adapt.printing.progress import progress_console
from tf_adapt.training.callbacks import SECONDS_BETWEEN_LINES


class DistillationDisplay:
    """A bar from 0 to 1 over the whole training.

    Args:
        shown: False: nothing is shown.
    """

    def __init__(self, shown: bool):
        self.console = progress_console(shown)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._row = self._bar.add_task("", total=1.0)
        self._last_line = time.monotonic()

    def __enter__(self) -> "DistillationDisplay":
        self._bar.start()
        return self

    def __exit__(self, *error) -> None:
        self._bar.stop()

    def show(self, share_done: float, step: int, loss: float, held_out: float) -> None:
        """Shows the last step."""
        text = f"step {step}, loss {loss:.4f}, held-out {held_out:.4f}"
        self._bar.update(self._row, completed=share_done, description=text)
        if self._bar.disable and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self.say(f"{text}, {share_done:.0%} done")

    def say(self, text: str) -> None:
        """Prints a line above the bar."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)
