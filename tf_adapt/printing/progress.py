"""The console for progress bars and messages."""

import sys
from collections.abc import Iterable, Sized

from rich.console import Console

from tf_adapt.printing.streams import quiet


def progress_console(shown: bool = True) -> Console:
    """A console on standard error; silent if the command is `quiet`, or not `shown`."""
    return Console(file=sys.stderr, quiet=quiet.get() or not shown)


def tracked(batches: Sized, what: str, shown: bool) -> Iterable:
    """The batches, with a progress bar on the terminal if `shown`."""
    from rich.progress import track

    console = progress_console(shown and sys.stderr.isatty())
    total = len(batches)
    return track(batches, what, total=total, console=console, transient=True)
