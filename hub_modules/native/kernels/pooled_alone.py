"""Whether of an encoder's outputs the pooled vector alone is read."""

import contextlib
import contextvars
from collections.abc import Iterator

_chosen = contextvars.ContextVar("pooled_alone", default=False)


@contextlib.contextmanager
def pooled_alone() -> Iterator[None]:
    """Encoders called inside, in inference mode, compute only what their pooled vector needs: of
    the top layer the first position. It is the same up to rounding; the top hidden states are
    `[batch, 1, width]`."""
    token = _chosen.set(True)
    try:
        yield
    finally:
        _chosen.reset(token)


def is_pooled_alone() -> bool:
    """Whether this call is inside of `pooled_alone`."""
    return _chosen.get()
