"""An export, checked and in memory, of either format. Imports no TensorFlow.

The format is that of the manifest, so that TensorFlow is imported for a SavedModel alone.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hub_modules.engines.names import TENSORFLOW
from hub_modules.manifest import MANIFEST, module_hash, read_manifest, verify
from hub_modules.manifest_schemas import EXPORT, LIGHT_EXPORT
from tf_adapt.errors import ArtifactError
from tf_adapt.runs.ensemble_folder import ENSEMBLE
from tf_adapt.runs.exports_in import no_run
from tf_adapt.runs.run_folder import CONFIG

# A value a row for each input, or the one of a setting; an array for each output, texts as `str`.
Columns = dict[str, Any]
Outputs = dict[str, np.ndarray]
Answer = Callable[[Columns], Outputs]
SAVED_MODEL = "saved_model.pb"
# The method of signatures, in TensorFlow Serving's metadata.
PREDICT = "tensorflow/serving/predict"


@dataclass(frozen=True)
class Opened:
    """An export in memory.

    Attributes:
        answer: the name of a signature → its outputs for columns of texts, which raise `DataError`
            for texts that the model refuses.
        definitions: the signatures as in TensorFlow Serving's metadata.
    """

    answer: Callable[[str], Answer]
    definitions: Mapping[str, dict[str, Any]]


@dataclass(frozen=True)
class Format:
    """A format of exports.

    Attributes:
        module: whose `opened` takes a folder, a hash of it, whether it is trusted, and the engine.
        needs_tensorflow: to be read.
    """

    module: str
    needs_tensorflow: bool


# By the kind of a manifest.
FORMATS = {
    EXPORT: Format("tf_adapt.serving.reading.saved_model", True),
    LIGHT_EXPORT: Format("tf_adapt.serving.reading.light", False),
}


def is_export(folder: Path) -> bool:
    """Whether a folder is to be read as an export, which may be a wrong one."""
    return (folder / MANIFEST).is_file() or (folder / SAVED_MODEL).is_file()


def needs_tensorflow(folder: Path) -> bool:
    """Whether TensorFlow reads this folder; what is no export of ours is taken to need it.

    Raises:
        ArtifactError: it is neither a run nor an export, or its manifest is damaged.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        if not any((folder / name).is_file() for name in (CONFIG, ENSEMBLE, SAVED_MODEL)):
            raise no_run(folder)
        return True
    return manifest.kind not in FORMATS or FORMATS[manifest.kind].needs_tensorflow


def check_export(folder: Path) -> None:
    """Checks that a folder is a whole export.

    Raises:
        ArtifactError: it is something else, or damaged.
    """
    manifest = read_manifest(folder)
    if manifest is None or manifest.kind not in FORMATS:
        got = "a SavedModel without manifest" if manifest is None else f"a {manifest.kind}"
        raise ArtifactError(
            f"{folder}: expected an export, got {got}; write one with `tf-adapt export`"
        )
    verify(folder, manifest)


def opened(folder: Path, trust: bool, engine: str = TENSORFLOW) -> Opened:
    """Loads an export that was checked by `check_export`.

    Args:
        trust: accept a program from elsewhere; a light export holds none.
        engine: of a SavedModel's encoder.

    Raises:
        ArtifactError: it cannot be read, or is not trusted.
        ConfigError: the engine cannot compute it, or what reads it is not installed.
    """
    module = importlib.import_module(FORMATS[read_manifest(folder).kind].module)
    return module.opened(folder, module_hash(folder), trust, engine)
