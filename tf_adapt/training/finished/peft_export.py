"""Writes the LoRA of a run as a folder of PEFT's."""

import os
from pathlib import Path

from hub_modules.keras_hub.encoder import KerasHubEncoder
from hub_modules.keras_hub.huggingface import table_rows
from hub_modules.native.added.lora import with_low_rank
from hub_modules.native.added.settings import Lora
from hub_modules.sources import huggingface, peft
from hub_modules.sources.layouts.names import Row
from hub_modules.storage.model_hubs import HUGGINGFACE
from tf_adapt.encoder.adapter_files import check_rest_is_the_modules
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.serving.exports.model_card import PEFT
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.module_export import warn_of_prompts
from tf_adapt.training.finished.run_cards import encoder_card


def export_peft(run: str | os.PathLike, folder: str | os.PathLike, trust: bool = False) -> Path:
    """Writes the LoRA of a run's best epoch as a new folder of PEFT's; returns the folder.

    It belongs to the run's module in HuggingFace's format. The head is not in it.

    Args:
        trust: as in `load_run`.

    Raises:
        ArtifactError: as `load_run`; the folder cannot be written.
        ConfigError: as `write_peft`.
    """
    encoder = load_run(run, trust).encoder
    write_peft(encoder, folder, {"README.md": encoder_card(Path(run), PEFT)})
    warn_of_prompts(encoder)
    return Path(folder)


def write_peft(
    encoder: HubEncoder, folder: str | os.PathLike, beside: dict[str, str] | None = None
) -> Path:
    """Writes an encoder's LoRA as `export_peft` does.

    Args:
        beside: further files by name, as text.

    Raises:
        ArtifactError: the folder cannot be written.
        ConfigError: the encoder has no LoRA; more than LoRA was trained or added; as
            `check_rest_is_the_modules`.
    """
    _check(encoder)
    names = {id(weight): name for name, weight in encoder.native.weights_by_name().items()}
    matrices = {
        names[id(linear.kernel)]: peft.Matrices(
            linear.low_rank.a.numpy(), linear.low_rank.b.numpy()
        )
        for linear in with_low_rank(encoder.native)
    }
    peft.write(encoder.added, matrices, _rows(encoder), _base(encoder.handle), folder, beside)
    return Path(folder)


def _check(encoder: HubEncoder) -> None:
    if not isinstance(encoder.added, Lora):
        added = encoder.added and encoder.added.adaptation
        raise ConfigError(
            f"module {encoder.handle}: PEFT's format is written of LoRA, got {added or 'none'}; "
            "leave out --format (adapters, biases: a file of ours) or --adapters (the whole "
            "encoder in HuggingFace's format)"
        )
    if encoder.classification_token or encoder.keep_layers is not None:
        raise ConfigError(
            f"module {encoder.handle}: PEFT's format holds LoRA beside the whole module, got an "
            "encoder with classification_token or keep_layers; write the whole model (`tf-adapt "
            "export`), or the encoder without --adapters"
        )
    check_rest_is_the_modules(encoder)


def _rows(encoder: HubEncoder) -> list[Row]:
    """HuggingFace's names of the weights."""
    if isinstance(encoder.native, KerasHubEncoder):
        return table_rows(encoder.native)
    return huggingface.rows_of(encoder.family, encoder.native.get_config())


def _base(handle: str) -> peft.Base:
    """The module as HuggingFace's libraries name it."""
    if not handle.startswith(HUGGINGFACE):
        return peft.Base(handle.removeprefix("keras:"))
    name, _, revision = handle.removeprefix(HUGGINGFACE).partition("@")
    return peft.Base(name, revision or None)
