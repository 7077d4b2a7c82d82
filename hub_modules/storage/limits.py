"""Time limits for servers and foreign programs: seconds, set by environment variables."""

import math
import os

from hub_modules.errors import ConfigError

# Seconds without data from a server, and seconds for an unknown program to load.
DOWNLOAD_TIMEOUT, LOAD_TIMEOUT = "TF_ADAPT_DOWNLOAD_TIMEOUT", "TF_ADAPT_LOAD_TIMEOUT"
_DEFAULTS = {DOWNLOAD_TIMEOUT: 60.0, LOAD_TIMEOUT: 300.0}
_LARGEST = 10.0**6  # about 12 days; a socket's timeout has an upper limit


def limit_seconds(variable: str) -> float:
    """The limit that an environment variable sets, or its default.

    Raises:
        ConfigError: its value is not a positive number of seconds.
    """
    text = os.environ.get(variable, "").strip()
    if not text:
        return _DEFAULTS[variable]
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= _LARGEST:
        raise ConfigError(
            f"{variable}: expected a number of seconds above 0 and up to {_LARGEST:.0f}, got "
            f"{text[:40]!r}"
        )
    return seconds
