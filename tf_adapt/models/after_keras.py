"""Registers the classes of `.keras` files of ours as soon as Keras is loaded.

`keras.saving.load_model` finds classes that were registered before; they need Keras themselves, and
`import tf_adapt` does not load it. Imports neither Keras nor TensorFlow.
"""

import functools
import importlib
import importlib.abc
import importlib.util
import sys

_WATCHED = ("keras", "tensorflow")
# Packages that must be whole before our classes are imported.
_NEEDED = (*_WATCHED, "tf_adapt", "hub_modules")


def register() -> None:
    """Registers the classes now if Keras is loaded."""
    if "keras" in sys.modules:
        importlib.import_module("tf_adapt.models.serializables")


def watch() -> None:
    """Registers them once Keras is loaded, now or by a later import."""
    register()
    if "keras" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


def unwatch() -> None:
    """For programs that load no `.keras` file."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]


class _Finder(importlib.abc.MetaPathFinder):
    """Finds Keras and TensorFlow as other finders do, with our work after their own."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in _WATCHED:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                after = functools.partial(_executed, spec.loader.exec_module)
                spec.loader.exec_module = after
                return spec
        return None


def _executed(execute, module) -> None:
    execute(module)
    module.__spec__._initializing = False
    if "keras" in sys.modules and not any(map(_is_being_imported, list(sys.modules))):
        unwatch()
        register()


def _is_being_imported(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return name.partition(".")[0] in _NEEDED and getattr(spec, "_initializing", False)
