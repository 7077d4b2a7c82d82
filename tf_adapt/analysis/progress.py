"""A progress bar over a list, on a terminal."""

import sys
from collections.abc import Iterable, Sequence

from rich.progress import track

from tf_adapt.printing.progress import progress_console


def shown(items: Sequence, what: str) -> Iterable:
    """The items, with a progress bar if stderr is a terminal."""
    console = progress_console(sys.stderr.isatty())
    return track(items, what, console=console, transient=True)
