"""Freeze the pretrained model, tune it, or something in between?

Names are imported when first used, so that `import tf_adapt` and the command line start without
loading TensorFlow.
"""

import importlib

__version__ = "0.1.0"

_HOMES = {
    "AuxiliaryLoss": "tf_adapt.auxiliary",
    "Constant": "tf_adapt.schedules",
    "CosineDecay": "tf_adapt.schedules",
    "DiscriminativeOptimizer": "tf_adapt.optimizers",
    "HubEncoder": "tf_adapt.encoder",
    "LinearDecay": "tf_adapt.schedules",
    "SlantedTriangular": "tf_adapt.schedules",
    "StartingPoint": "tf_adapt.starting_point",
    "Task": "tf_adapt.tasks",
    "Unfreezing": "tf_adapt.unfreezing",
    "adapters": "tf_adapt.adaptation",
    "batches": "tf_adapt.data.batches",
    "build_language_model": "tf_adapt.language_model",
    "build_model": "tf_adapt.model",
    "chain_thaw": "tf_adapt.adaptation",
    "distillation_objective": "tf_adapt.distillation",
    "encode": "tf_adapt.predicting",
    "ewc": "tf_adapt.penalties",
    "export": "tf_adapt.serving",
    "feature_extraction": "tf_adapt.adaptation",
    "fine_tuning": "tf_adapt.adaptation",
    "fisher_diagonal": "tf_adapt.fisher",
    "gradual_unfreezing": "tf_adapt.adaptation",
    "l2_sp": "tf_adapt.penalties",
    "language_model_objective": "tf_adapt.language_modeling",
    "load_adapters": "tf_adapt.adapter_files",
    "load_dataset": "tf_adapt.data.datasets",
    "load_run": "tf_adapt.trained",
    "predict": "tf_adapt.predicting",
    "save_adapters": "tf_adapt.adapter_files",
    "sequential_unfreezing": "tf_adapt.adaptation",
    "task_fisher": "tf_adapt.fisher",
    "top_layers": "tf_adapt.adaptation",
    "two_stage": "tf_adapt.adaptation",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'tf_adapt' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
