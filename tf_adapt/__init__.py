"""Freeze the pretrained model, tune it, or something in between?

Names are imported when first used, so that `import tf_adapt` and the command line start without
loading TensorFlow.
"""

import importlib

__version__ = "0.1.0"

_HOMES = {
    "HubEncoder": "tf_adapt.encoder",
    "Task": "tf_adapt.tasks",
    "batches": "tf_adapt.data.batches",
    "build_model": "tf_adapt.model",
    "encode": "tf_adapt.predicting",
    "export": "tf_adapt.serving",
    "load_dataset": "tf_adapt.data.datasets",
    "load_run": "tf_adapt.trained",
    "predict": "tf_adapt.predicting",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'tf_adapt' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
