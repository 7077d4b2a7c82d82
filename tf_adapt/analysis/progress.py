"""A progress bar over a list, on a terminal."""

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import track


def shown(items: Sequence, what: str) -> Iterable:
    """The items, with a progress bar where stderr is a terminal."""
    console = Console(file=sys.stderr, quiet=not sys.stderr.isatty())
    return track(items, what, console=console, transient=True)
