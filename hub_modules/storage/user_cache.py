"""The user's cache: what is in it may be removed at any time."""

import os
from pathlib import Path


def user_cache() -> Path | None:
    """`tf_adapt` in `XDG_CACHE_HOME`, else in `~/.cache`; None without a home folder."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # By the XDG specification, a relative path is ignored.
    folder = Path(cache if os.path.isabs(cache) else os.path.expanduser("~/.cache"))
    return folder / "tf_adapt" if folder.is_absolute() else None
