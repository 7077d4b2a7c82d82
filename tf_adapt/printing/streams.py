"""Standard input, output and error: always open, and safe from control characters in files."""

import contextlib
import contextvars
import errno
import os
import re
import sys

# Whether a command prints only errors and its result.
quiet: contextvars.ContextVar[bool] = contextvars.ContextVar("quiet", default=False)
# Control characters except tab and line feed, marks of text direction, lone surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """The text with unprintable characters escaped, such as `\\x1b`."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def printable_json(text: str) -> str:
    """JSON text with unprintable characters escaped as `\\uXXXX`."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def shows_unicode() -> bool:
    """Whether standard output is UTF-8."""
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"


# Names of the streams that were closed when the program started.
_closed: set[str] = set()


def was_closed(name: str) -> bool:
    """Whether a stream, such as `stdout`, was closed when the program started."""
    return name in _closed


def open_streams() -> None:
    """Opens closed standard streams on the null device; output errors become backslash escapes.

    Otherwise a file opened later could get descriptor 1 or 2, and with it the output of libraries.
    Standard output is opened for reading: a result that nobody gets is an error, as on a full disk.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            _closed.add(name)
            access = os.O_RDONLY if name == "stdout" else os.O_RDWR
            os.open(os.devnull, access)  # gets the lowest free descriptor: this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):  # a replaced stream
            stream.reconfigure(errors="backslashreplace")


def is_of_output(error: Exception) -> bool:
    """Whether an error is a failed write to a stream; errors of files have a file name."""
    numbers = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
    return isinstance(error, OSError) and error.filename is None and error.errno in numbers
