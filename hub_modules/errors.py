"""The errors raised for users, each with its exit code on the command line.

A message names the location (file:line or key path), the expected value, the actual one and the
remedy.
"""


class TfAdaptError(Exception):
    """Base of every error raised on purpose; the command line prints it without a traceback."""

    exit_code = 1


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
