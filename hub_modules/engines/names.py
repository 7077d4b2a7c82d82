"""The engines by name; what they need. Imports neither TensorFlow nor OpenVINO."""

import importlib.util

from hub_modules.errors import ConfigError

TENSORFLOW, OPENVINO, OPENVINO_INT8 = "tensorflow", "openvino", "openvino_int8"
ENGINES = (TENSORFLOW, OPENVINO, OPENVINO_INT8)
# The packages that an engine needs, and the extra of tf_adapt that brings them.
PACKAGES = {
    TENSORFLOW: ([], ""),
    OPENVINO: (["openvino"], "openvino"),
    OPENVINO_INT8: (["openvino", "nncf"], "int8"),
}


def check_engine(engine: str) -> None:
    """Checks that an engine exists and its packages are installed.

    Raises:
        ConfigError: there is no such engine, or a package is missing.
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine: expected one of {', '.join(ENGINES)}, got {engine!r}")
    packages, extra = PACKAGES[engine]
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise ConfigError(
                f"engine {engine}: expected the package {package}, got none; install it: pip "
                f"install 'tf_adapt[{extra}]', or choose the engine {TENSORFLOW}"
            )


def package_versions(engine: str) -> dict[str, str]:
    """The packages of an engine and their versions, for what depends on them."""
    import importlib.metadata  # takes a fifth of the start of a command

    packages, _ = PACKAGES[engine]
    return {package: importlib.metadata.version(package) for package in packages}
