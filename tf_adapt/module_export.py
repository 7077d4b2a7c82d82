"""The encoder of a run, task-tuned or language-model-tuned, as a module again."""

import inspect
import os
from pathlib import Path

import numpy as np

from hub_modules.export import ENCODERS, write_module
from hub_modules.load import module_text_settings
from hub_modules.sources import ModuleSource
from tf_adapt.encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.language_modeling import BiLanguageModel, MaskedLanguageModel
from tf_adapt.model import AdaptedModel
from tf_adapt.trained import load_run


def export_module(run: str | os.PathLike, folder: str | os.PathLike) -> Path:
    """Writes the encoder of a run's best epoch as a new module folder; returns the folder.

    An output layer that was trained with the encoder, as an objective of its own or as an
    auxiliary loss, goes with it; one that was not would no longer fit, and stays behind.

    Raises:
        ArtifactError: as `load_run`; the folder exists or cannot be written.
        ConfigError: as `module_source`.
    """
    write_module(module_source(load_run(run)), folder)
    return Path(folder)


def module_source(model: AdaptedModel) -> ModuleSource:
    """A model's encoder and trained output layer as plain data.

    Raises:
        ConfigError: the encoder runs as a black box or has adapters, or its module's vocabulary is
            not known.
    """
    encoder = model.encoder
    if encoder.execution != "native":
        raise ConfigError(
            f"module {encoder.handle}: only a native encoder can be written as a module, got "
            f"execution: {encoder.execution}; train with execution: native"
        )
    if encoder.adapters is not None:
        raise ConfigError(
            f"module {encoder.handle}: a module has no place for adapters; keep them with "
            "tf_adapt.save_adapters, beside the module that the run started from"
        )
    vocabulary, lower_case = _text_settings(encoder)
    output_layer, words = _trained_output(model)
    return ModuleSource(
        encoder.family,
        _arguments(encoder),
        _arrays(encoder.encoder),
        vocabulary,
        lower_case,
        None if output_layer is None else _arrays(output_layer),
        words,
    )


def _text_settings(encoder: HubEncoder) -> tuple[list[str] | None, bool | None]:
    if encoder.family == "elmo":
        return None, None
    found = module_text_settings(encoder.handle)
    if found is None:
        raise ConfigError(
            f"module {encoder.handle}: its vocabulary is inside a preprocessing module, from which "
            "it cannot be written again; convert the original weights with `tf-adapt module "
            "convert`, and train on that"
        )
    return found


def _arguments(encoder: HubEncoder) -> dict:
    """The native encoder's own arguments, without Keras' and those of adapters."""
    known = inspect.signature(ENCODERS[encoder.family].__init__).parameters
    config = encoder.encoder.get_config()
    return {name: config[name] for name in known if name in config and "adapter" not in name}


def _trained_output(model: AdaptedModel):
    """The output layer that learned with the encoder, and ELMo's words; the first of several."""
    objectives = [model.head, *(getattr(one, "objective", None) for one in model.auxiliaries)]
    for objective in objectives:
        if isinstance(objective, MaskedLanguageModel | BiLanguageModel):
            return objective.output_layer, getattr(objective, "words", None)
    return None, None


def _arrays(layer) -> dict[str, np.ndarray]:
    return {name: weight.numpy() for name, weight in layer.weights_by_name().items()}
