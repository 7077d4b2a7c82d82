"""The errors raised for users, each with its exit code on the command line.

A message names the location (file:line or key path), the expected value, the actual one and the
remedy.
"""

LONGEST_MESSAGE = 4000


class TfAdaptError(Exception):
    """Base of every error raised on purpose; the command line prints it without a traceback.

    A message quotes what it got, which may be megabytes: of more than `LONGEST_MESSAGE` characters
    the middle is left out.
    """

    exit_code = 1

    def __init__(self, message: str = ""):
        if len(message) > LONGEST_MESSAGE:
            start, end = LONGEST_MESSAGE * 2 // 3, LONGEST_MESSAGE // 4
            left_out = len(message) - start - end
            message = f"{message[:start]} … [{left_out:,} characters] … {message[-end:]}"
        super().__init__(message)


class ConfigError(TfAdaptError):
    """A config, an option or an argument is wrong."""

    exit_code = 2


class DataError(TfAdaptError):
    """A data file or an example is wrong."""

    exit_code = 3


class ArtifactError(TfAdaptError):
    """A module, a run folder, a checkpoint or an export is missing, damaged or not writable."""

    exit_code = 4


class TrainingError(TfAdaptError):
    """Training produced numbers that are not finite, or cannot continue."""

    exit_code = 5
