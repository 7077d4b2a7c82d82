"""The engines by name; what they need. Imports neither TensorFlow nor OpenVINO."""

import importlib.util

from hub_modules.errors import ConfigError

TENSORFLOW, OPENVINO = "tensorflow", "openvino"
ENGINES = (TENSORFLOW, OPENVINO)
_PACKAGE = "openvino"


def check_engine(engine: str) -> None:
    """Checks that an engine exists and its package is installed.

    Raises:
        ConfigError: there is no such engine, or its package is missing.
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
    if engine == OPENVINO and importlib.util.find_spec(_PACKAGE) is None:
        raise ConfigError(
            "engine openvino: expected the package openvino, got none; install it: pip install "
            "'tf_adapt[openvino]', or choose the engine tensorflow"
        )


def engine_version(engine: str) -> str:
    """An engine with the version of its package, for what depends on it."""
    import importlib.metadata  # takes a fifth of the start of a command

    return f"{engine} {importlib.metadata.version(engine)}"
