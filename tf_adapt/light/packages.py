"""The packages that light exports are written and read with. No TensorFlow."""

import importlib.util

from tf_adapt.errors import ConfigError

# With the extra of tf_adapt that brings it.
_EXTRAS = {"openvino": "light", "tokenizers": "light", "nncf": "int8"}


def check_installed(*packages: str) -> None:
    """Checks that packages are there.

    Raises:
        ConfigError: one is missing.
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise ConfigError(
                f"format openvino: expected the package {package}, got none; install it: pip "
                f"install 'tf_adapt[{_EXTRAS[package]}]'"
            )
