"""Freeze the pretrained model, tune it, or something in between?

Names are imported on first use, so that `import tf_adapt` and the command line start without
loading TensorFlow. Once Keras is loaded, before or after, the models and layers of this package are
registered, so that `keras.saving.load_model` can load `.keras` files that contain them.
"""

import importlib

from tf_adapt.models.after_keras import register, watch
from tf_adapt.version import __version__

_HOMES = {
    "ArtifactError": "hub_modules.errors",
    "AuxiliaryLoss": "tf_adapt.models.signals.auxiliary_loss",
    "Client": "tf_adapt.serving.client.client",
    "ConfigError": "hub_modules.errors",
    "Constant": "tf_adapt.adaptation.schedules",
    "CosineDecay": "tf_adapt.adaptation.schedules",
    "DataError": "hub_modules.errors",
    "Decoding": "tf_adapt.generation.decoding",
    "DiscriminativeOptimizer": "tf_adapt.adaptation.discriminative",
    "Generator": "tf_adapt.generation.generator",
    "HubEncoder": "tf_adapt.encoder.hub_encoder",
    "LinearDecay": "tf_adapt.adaptation.schedules",
    "LongTexts": "tf_adapt.encoder.long_texts",
    "MultiTaskModel": "tf_adapt.models.multi_task_model",
    "SignalAnnealing": "tf_adapt.models.signals.signal_annealing",
    "SlantedTriangular": "tf_adapt.adaptation.schedules",
    "StartingPoint": "tf_adapt.encoder.starting_point",
    "Task": "tf_adapt.tasks.task",
    "TrainingError": "hub_modules.errors",
    "Unfreezing": "tf_adapt.adaptation.unfreezing",
    "adapters": "tf_adapt.adaptation.added_weights",
    "batches": "tf_adapt.data.batches",
    "bitfit": "tf_adapt.adaptation.added_weights",
    "build_language_model": "tf_adapt.models.language_model",
    "build_model": "tf_adapt.models.build",
    "build_multi_task_model": "tf_adapt.models.multi_task_model",
    "chain_thaw": "tf_adapt.adaptation.adaptations",
    "compare": "tf_adapt.comparison.in_python",
    "consistency_batches": "tf_adapt.data.consistency_batches",
    "consistency_objective": "tf_adapt.models.signals.consistency",
    "contrastive": "tf_adapt.adaptation.adaptations",
    "dawid_skene": "tf_adapt.statistics.dawid_skene",
    "distill_module": "tf_adapt.training.distilling.distill",
    "distillation_objective": "tf_adapt.models.signals.distillation",
    "encode": "tf_adapt.serving.prediction.predict",
    "ensemble": "tf_adapt.training.ensembles.ensembling",
    "ewc": "tf_adapt.adaptation.penalties",
    "export": "tf_adapt.serving.exports.export",
    "feature_extraction": "tf_adapt.adaptation.adaptations",
    "fine_tuning": "tf_adapt.adaptation.adaptations",
    "fisher_diagonal": "tf_adapt.adaptation.fisher",
    "gradual_unfreezing": "tf_adapt.adaptation.adaptations",
    "l2_sp": "tf_adapt.adaptation.penalties",
    "language_model_objective": "tf_adapt.models.language_objectives",
    "load_adapters": "tf_adapt.encoder.adapter_files",
    "load_dataset": "tf_adapt.data.datasets",
    "load_ensemble": "tf_adapt.training.ensembles.load_ensemble",
    "load_run": "tf_adapt.training.finished.load_run",
    "lora": "tf_adapt.adaptation.added_weights",
    "multi_task_batches": "tf_adapt.data.multi_task_batches",
    "predict": "tf_adapt.serving.prediction.predict",
    "save_adapters": "tf_adapt.encoder.adapter_files",
    "sequential_unfreezing": "tf_adapt.adaptation.adaptations",
    "task_fisher": "tf_adapt.adaptation.fisher",
    "top_layers": "tf_adapt.adaptation.adaptations",
    "two_stage": "tf_adapt.adaptation.adaptations",
}

# Names of earlier versions → what to write in their place.
_NEW_WAYS = {
    "BottleneckAdapters": "build_model(…, adaptation=ta.adapters(size=64))",
    "Lora": "build_model(…, adaptation=ta.lora(rank=8))",
    "TaskAttention": "build_multi_task_model(…, task_attention=204)",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str):
    if name in _NEW_WAYS:
        raise AttributeError(f"tf_adapt.{name}: no longer there; write {_NEW_WAYS[name]}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tf_adapt' has no attribute {name!r}")
    attribute = getattr(importlib.import_module(_HOMES[name]), name)
    register()
    return attribute


def __dir__() -> list[str]:
    return sorted(__all__)


watch()
