"""Writes the fine-tuned encoder of a run as a module, or its adapters as a file."""

import dataclasses
import logging
import os
from pathlib import Path

import numpy as np

from hub_modules.export import write_module
from hub_modules.families import FAMILIES
from hub_modules.find import find_module
from hub_modules.huggingface_handles import is_native, model_type, preset_class
from hub_modules.keras_hub import export as keras_hub_export
from hub_modules.keras_hub.encoder import KerasHubEncoder
from hub_modules.load import module_text_settings
from hub_modules.manifest import read_manifest
from hub_modules.native.added.adapters import pretrained_by_name
from hub_modules.native.added.lora import merged
from hub_modules.native.added.settings import Lora, TaskAttention
from hub_modules.native.arguments import arguments
from hub_modules.own_families import OWN_FAMILIES
from hub_modules.sentence_transformers import (
    named_prompts,
    read_settings,
    settings_texts,
    stored_prompts,
)
from hub_modules.sources import ModuleSource, huggingface
from tf_adapt.config.paths import is_name_or_url
from tf_adapt.encoder.adapter_files import check_rest_is_the_modules, save_adapters
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.language_losses import BiLanguageModel, LstmLanguageModel, MaskedLanguageModel
from tf_adapt.runs import run_folder
from tf_adapt.serving.exports.huggingface_card import written_for_huggingface
from tf_adapt.serving.exports.model_card import Written, huggingface_card
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.run_cards import encoder_card

log = logging.getLogger(__name__)
_NOT_STORED = {"new_rows", "segments"}


def export_module(
    run: str | os.PathLike,
    folder: str | os.PathLike,
    trust: bool = False,
    stored_as: str = "float32",
) -> Path:
    """Writes the encoder of a run's best epoch as a new module folder; returns the folder.

    An output layer that was trained with the encoder, as objective or as auxiliary loss, is written
    too; one that was not trained would not fit the encoder, and is left out.

    Args:
        trust: as in `load_run`.
        stored_as: as in `write_module`.

    Raises:
        ArtifactError: as `load_run`, `write_module`.
        ConfigError: it is the handle of a module; as `module_source`.
    """
    if _is_handle(run):
        raise ConfigError(
            f"{os.fspath(run)}: expected the folder of a run, got the handle of a module, which is "
            "one already; add --format huggingface to write it in HuggingFace's format"
        )
    model = load_run(run, trust)
    write_module(module_source(model), folder, {"README.md": encoder_card(Path(run))}, stored_as)
    warn_of_prompts(model.encoder)
    return Path(folder)


def export_adapters(run: str | os.PathLike, file: str | os.PathLike, trust: bool = False) -> Path:
    """Writes the adapters, LoRA or biases of a run's best epoch as a file; returns the file.

    `tf_adapt.load_adapters` reads it into an encoder of the run's module, which then has the states
    of the run's encoder. The head is not in it.

    Args:
        trust: as in `load_run`.

    Raises:
        ArtifactError: as `load_run`, `save_adapters`.
        ConfigError: as `check_rest_is_the_modules`, `save_adapters`.
    """
    encoder = load_run(run, trust).encoder
    check_rest_is_the_modules(encoder)
    written = save_adapters(encoder, file)
    warn_of_prompts(encoder)
    return written


def export_huggingface(
    origin: str | os.PathLike, folder: str | os.PathLike, trust: bool = False
) -> Path:
    """Writes an encoder as a new folder of HuggingFace's format; returns the folder.

    Args:
        origin: the folder of a run, whose best epoch's encoder is written, or a handle.
        trust: as in `load_run`, `HubEncoder`.

    Raises:
        ArtifactError: as `load_run`, `HubEncoder`; the folder cannot be written.
        ConfigError: as `encoder_source`; the family has no place in the format.
    """
    is_run = (Path(origin) / run_folder.CONFIG).is_file()
    encoder = load_run(origin, trust).encoder if is_run else HubEncoder(origin, trust=trust)
    is_pooled = encoder.pooling is not None
    written = written_for_huggingface(encoder.family, is_pooled, find_module(encoder.handle))
    card = encoder_card(Path(origin), written) if is_run else _card(origin, written)
    beside = {"README.md": card}
    _write_huggingface(encoder, folder, beside | _sentence_texts(encoder))
    if not is_pooled or len(encoder.prompts) > 1:
        warn_of_prompts(encoder)
    return Path(folder)


def _is_handle(origin: str | os.PathLike) -> bool:
    folder = Path(origin)
    if (folder / run_folder.CONFIG).is_file():
        return False
    if is_name_or_url(os.fspath(origin)) or model_type(folder) or preset_class(folder):
        return True
    return getattr(read_manifest(folder), "kind", None) in OWN_FAMILIES


def _sentence_texts(encoder: HubEncoder) -> dict[str, str]:
    """What sentence-transformers reads of an encoder with a pooled vector: as the folder that it
    was loaded from has it, with the encoder's own prompts."""
    if encoder.pooling is None:
        return {}
    folder = find_module(encoder.handle)
    given = read_settings(folder)
    positions = encoder.native.max_positions
    longest = min(given.longest or positions, positions)
    settings = given._replace(pooling=encoder.pooling, longest=longest)
    as_stored = encoder.prompts == given.prompts
    prompts = stored_prompts(folder) if as_stored else named_prompts(encoder.prompts)
    return settings_texts(settings, encoder.output_width, prompts)


def warn_of_prompts(encoder: HubEncoder) -> None:
    """Says of an encoder that was written that its prompts were not."""
    if encoder.prompts:
        log.warning(
            "the prompts %s, with which the encoder learned, are no part of it: name them where it "
            "is used (encoder.prompts in a config, HubEncoder(prompts=))",
            list(encoder.prompts),
        )


def _write_huggingface(
    encoder: HubEncoder, folder: str | os.PathLike, beside: dict[str, str]
) -> None:
    if isinstance(encoder.native, KerasHubEncoder):
        special = encoder.preprocessor.special_token_ids
        with merged(encoder):
            keras_hub_export.write(
                encoder.native, special, find_module(encoder.handle), folder, beside
            )
        return
    write = huggingface.writer_of(encoder.family)
    if write is None:
        raise ConfigError(
            f"module {encoder.handle}: HuggingFace's format is written of a BERT, GPT-2, "
            "ModernBERT, MPNet and encoders of keras-hub's layers, got the family "
            f"{encoder.family}; write a module of it without --format"
        )
    write(encoder_source(encoder), folder, beside)


def _card(handle: str | os.PathLike, written: Written) -> str:
    """Of a folder of the format its own, which is of these files."""
    folder = find_module(handle)
    readme = folder / "README.md"
    if is_native(folder) and readme.is_file():
        return readme.read_text("utf-8", "replace")
    return huggingface_card(os.fspath(handle), folder, written)


def module_source(model: AdaptedModel) -> ModuleSource:
    """A model's encoder and trained output layer as plain data: see `encoder_source`.

    Raises:
        ConfigError: as `encoder_source`.
    """
    output_layer, words = _trained_output(model)
    return dataclasses.replace(
        encoder_source(model.encoder),
        output_layer=None if output_layer is None else _arrays(output_layer),
        output_words=words,
    )


def encoder_source(encoder: HubEncoder) -> ModuleSource:
    """An encoder as plain data; LoRA is merged into the kernels.

    Raises:
        ConfigError: the encoder is not native, has adapters or a classification token, or is of a
            family that is not written as a module, or its module's vocabulary is not known.
    """
    if encoder.execution != "native":
        raise ConfigError(
            f"module {encoder.handle}: only a native encoder can be written as a module, got "
            f"execution: {encoder.execution}; train with execution: native"
        )
    if encoder.family not in OWN_FAMILIES:
        raise ConfigError(
            f"module {encoder.handle}: only encoders of the families {', '.join(OWN_FAMILIES)} "
            f"can be written as a module, got one of {encoder.family}; export the whole model "
            "with `tf-adapt export`"
        )
    if isinstance(encoder.added, TaskAttention):
        raise ConfigError(
            f"module {encoder.handle}: a module has no place for the attention that each task has "
            "in it; export the whole model for serving (`tf-adapt export`)"
        )
    if not isinstance(encoder.added_weights, Lora | None):
        raise ConfigError(
            f"module {encoder.handle}: a module has no place for adapters; write them as a file, "
            "for the module that the run started from: `tf-adapt module export RUN --adapters "
            "--out FILE.npz`, in Python `tf_adapt.save_adapters`"
        )
    if encoder.classification_token:
        raise ConfigError(
            f"module {encoder.handle}: a module has no place for the embedding of a classification "
            "token; export the whole model for serving (`tf-adapt export`)"
        )
    text_settings = _text_settings(encoder)
    with merged(encoder):
        arrays = {n: weight.numpy() for n, weight in pretrained_by_name(encoder.native).items()}
    return ModuleSource(
        encoder.family,
        _arguments(encoder),
        arrays,
        mix=encoder.layer_mix,
        **text_settings,
    )


def _text_settings(encoder: HubEncoder) -> dict:
    if FAMILIES[encoder.family].reads_characters:
        return {}
    settings = module_text_settings(encoder.handle)
    if settings is None:
        raise ConfigError(
            f"module {encoder.handle}: its vocabulary is inside a preprocessing module, from which "
            "it cannot be written again; convert the original weights with `tf-adapt module "
            "convert`, and train on that"
        )
    return settings


def _arguments(encoder: HubEncoder) -> dict:
    """The native encoder's constructor arguments, without those of Keras and of what no module
    stores."""
    known = arguments(OWN_FAMILIES[encoder.family].encoder).keys() - _NOT_STORED
    config = encoder.native.get_config()
    return {name: config[name] for name in known if name in config}


def _trained_output(model: AdaptedModel):
    """The first output layer that was trained with the encoder, and ELMo's words; else None."""
    objectives = [
        model.head,
        *(getattr(auxiliary, "objective", None) for auxiliary in model.auxiliaries),
    ]
    for objective in objectives:
        if isinstance(objective, MaskedLanguageModel | BiLanguageModel | LstmLanguageModel):
            return objective.output_layer, getattr(objective, "words", None)
    return None, None


def _arrays(layer) -> dict[str, np.ndarray]:
    return {name: weight.numpy() for name, weight in layer.weights_by_name().items()}
