"""Spares a command a second of Keras' import, which takes scikit-learn and matplotlib along.

Keras has wrappers for them that no command needs, and works where neither is installed.
"""

import importlib.abc
import sys

_UNNEEDED = ("matplotlib", "sklearn")


def spare() -> None:
    """While Keras is imported, it finds neither of them. All other imports do."""
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing; hides two packages from one that is being imported."""

    def find_spec(self, fullname, path=None, target=None):
        keras = getattr(sys.modules.get("keras"), "__spec__", None)
        if fullname in _UNNEEDED and getattr(keras, "_initializing", False):
            raise ModuleNotFoundError(f"Keras is imported without {fullname}", name=fullname)
