"""Output files of commands, which never overwrite inputs; `-` is standard output. No TensorFlow."""

import errno
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from hub_modules.manifest import MANIFEST
from hub_modules.storage.files import write_parts
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.printing.streams import was_closed

STANDARD_STREAM = "-"


def check_output(output: str | os.PathLike, *inputs: str | os.PathLike) -> None:
    """Checks, before anything is computed, that writing a file overwrites and damages no input.

    Args:
        inputs: files and folders that the command reads; one of them may be `-`.

    Raises:
        ConfigError: the output is one of these files, also through a link; is an existing file in
            one of the folders, or any file in a module or an export; or is a folder.
    """
    if os.path.isdir(output):
        raise ConfigError(f"{output}: expected the name of a file, got a folder; name a file in it")
    for source in inputs:
        if os.path.isdir(source):
            _check_outside(output, Path(source))
        elif _are_one_file(output, source):
            raise ConfigError(
                f"{output}: expected another file than the input, got the same as {source}; "
                "choose another name for the output"
            )


def write_output(output: str | os.PathLike, parts: Iterable[bytes]) -> None:
    """Writes a file with `write_parts`, or to standard output if `output` is `-`.

    Raises:
        ArtifactError: it cannot be written.
        BrokenPipeError: the reader of standard output has closed it.
    """
    if str(output) != STANDARD_STREAM:
        write_parts(output, parts)
        return
    try:
        if sys.stdout is None or was_closed("stdout"):
            raise OSError(errno.EBADF, "it is closed")
        sys.stdout.flush()
        sys.stdout.buffer.writelines(parts)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ArtifactError(
            f"<stdout>: cannot be written ({error.strerror}); name a file"
        ) from None


def _check_outside(output: str | os.PathLike, folder: Path) -> None:
    is_inside = Path(os.path.realpath(output)).is_relative_to(os.path.realpath(folder))
    # A new file damages a module or an export, whose manifest lists all files; not a run.
    if is_inside and (os.path.exists(output) or (folder / MANIFEST).is_file()):
        raise ConfigError(
            f"{output}: expected a file of its own, got one in {folder}, which the command reads; "
            "choose another name for the output"
        )


def _are_one_file(output: str | os.PathLike, source: str | os.PathLike) -> bool:
    try:
        target, origin = _status(output, sys.stdout), _status(source, sys.stdin)
    except (OSError, ValueError, AttributeError):  # one of them does not exist
        return False
    return stat.S_ISREG(target.st_mode) and os.path.samestat(target, origin)


def _status(path: str | os.PathLike, stream: TextIO) -> os.stat_result:
    return os.fstat(stream.fileno()) if str(path) == STANDARD_STREAM else os.stat(path)
