"""Whether modules may be fetched: one that only the config of a foreign run names may not."""

import contextlib
import contextvars
from collections.abc import Callable, Iterator

from hub_modules.errors import ArtifactError

_allowed: contextvars.ContextVar[bool] = contextvars.ContextVar("fetching", default=True)


@contextlib.contextmanager
def fetching(allowed: bool) -> Iterator[None]:
    """Allows or forbids, within it, to fetch what is not in a cache of this machine yet."""
    token = _allowed.set(allowed)
    try:
        yield
    finally:
        _allowed.reset(token)


def may_fetch() -> bool:
    """Whether what is not in a cache may be fetched."""
    return _allowed.get()


def check_fetching(handle: str, is_cached: Callable[[], bool]) -> None:
    """Checks that a module may be fetched, or need not be.

    Raises:
        ArtifactError: it is in no cache, and may not.
    """
    if not may_fetch() and not is_cached():
        raise ArtifactError(
            f"module {handle}: it is not on this machine, and the config of a run, which may be "
            "another one's, is what names it; if you trust where the run comes from, say so and it "
            "is fetched: --trust (of `tf-adapt predict` and others), trust=True in Python"
        )
