"""A process that imports TensorFlow starts in two thirds of the time.

Keras takes scikit-learn and matplotlib along, for wrappers that no command needs, and works where
neither is installed. Imports and traced graphs make many objects and free few, and Python's
collector would look at them again and again.
"""

import gc
import importlib.abc
import sys

_UNNEEDED = ("matplotlib", "sklearn")


def start_lean() -> None:
    """While Keras is imported, it finds neither of them; the collector runs a tenth as often."""
    sys.meta_path.insert(0, _Finder())
    gc.set_threshold(7_000)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing; hides two packages from one that is being imported."""

    def find_spec(self, fullname, path=None, target=None):
        keras = getattr(sys.modules.get("keras"), "__spec__", None)
        if fullname in _UNNEEDED and getattr(keras, "_initializing", False):
            raise ModuleNotFoundError(f"Keras is imported without {fullname}", name=fullname)
