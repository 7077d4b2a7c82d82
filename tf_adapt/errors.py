"""The family of errors that a user can meet, each with the exit code of the command line.

Messages say where (file:line or key path), what was expected, what was found, and what to do.
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
    """Training left the finite numbers or cannot go on."""

    exit_code = 5
