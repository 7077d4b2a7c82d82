"""The errors that a user can meet; what they mean and their exit codes: `hub_modules.errors`."""

from hub_modules.errors import (
    ArtifactError,
    ConfigError,
    DataError,
    TfAdaptError,
    TrainingError,
)

__all__ = ["ArtifactError", "ConfigError", "DataError", "TfAdaptError", "TrainingError"]
