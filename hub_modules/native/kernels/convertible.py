"""Whether layers use operations that other engines have, in place of faster ones of TensorFlow."""

import contextlib
import contextvars
from collections.abc import Iterator

_chosen = contextvars.ContextVar("convertible", default=False)


@contextlib.contextmanager
def convertible_operations() -> Iterator[None]:
    """Layers called inside use operations that OpenVINO can convert: the same results up to
    rounding, slower in TensorFlow, and no gradient."""
    token = _chosen.set(True)
    try:
        yield
    finally:
        _chosen.reset(token)


def is_convertible() -> bool:
    """Whether this call is inside of `convertible_operations`."""
    return _chosen.get()
