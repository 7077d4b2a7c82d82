"""Encoders of keras-hub's layers: from a preset's folder, or one of HuggingFace's format."""

from collections.abc import Sequence
from pathlib import Path

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.huggingface_handles import CONFIG, preset_class
from hub_modules.kept_layers import kept_config, kept_hash, kept_weights
from hub_modules.keras_hub import presets
from hub_modules.keras_hub.backbones import INSTALL, backbone_class
from hub_modules.keras_hub.description import Description
from hub_modules.keras_hub.encoder import KerasHubEncoder
from hub_modules.keras_hub.handles import no_backbone, refuse_gpt2
from hub_modules.loading.loaded_module import LoadedModule
from hub_modules.manifest import module_hash
from hub_modules.sources.files.folder import read_json


def load_keras_hub(
    folder: Path,
    handle: str,
    execution: str | None,
    preprocessor,
    dtype,
    pretrained: bool,
    keep_layers: Sequence[int] | None = None,
) -> LoadedModule:
    """An encoder of keras-hub's layers; its folder holds data only, so that it needs no trust.

    Args:
        folder: of `hub_modules.keras_hub.handles.keras_folder`.
        pretrained: whether the encoder gets the folder's weights; False: random ones.
        keep_layers: the layers that the encoder has; None: all.

    Raises:
        ArtifactError: a file is missing or damaged, or the model is none that can be built.
        ConfigError: keras-hub is not installed, or an option is not possible here; as
            `kept_config`.
    """
    _check_options(handle, execution, preprocessor)
    description = _described(folder)
    given = description.preprocessor()
    encoder = _with_layers(description, f"module {handle}", dtype, pretrained, keep_layers)
    # DeBERTa has no table of positions; its length is that of its pretraining.
    return LoadedModule(
        family="keras",
        encoder=encoder,
        preprocessor=given,
        hash=kept_hash(module_hash(folder), keep_layers),
        execution="native",
        max_length=encoder.settings["max_sequence_length"],
        sentence=presets.sentence_settings(folder),
    )


def _with_layers(
    description: Description, where: str, dtype, pretrained: bool, keep_layers: Sequence[int] | None
) -> KerasHubEncoder:
    settings = description.arguments["settings"]
    shared = "an ALBERT, whose layers share weights" if "num_groups" in settings else ""
    kept = kept_config(settings, keep_layers, where, shared)
    encoder = KerasHubEncoder(**description.arguments | {"settings": kept}, dtype=dtype)
    if not pretrained:
        return encoder
    if keep_layers is None:
        description.load(encoder)
        return encoder
    whole = KerasHubEncoder(**description.arguments, dtype=dtype)
    description.load(whole)
    arrays = {name: weight.numpy() for name, weight in whole.weights_by_name().items()}
    encoder.load_weights_by_name(kept_weights(arrays, keep_layers))
    return encoder


def _check_options(handle: str, execution: str | None, preprocessor) -> None:
    problems = {
        "execution": execution if execution == "saved_model" else None,
        "preprocessor": preprocessor,
    }
    for name, value in problems.items():
        if value is not None:
            raise ConfigError(
                f"module {handle}: {name}={value!r}: expected none for an encoder of keras-hub's "
                "layers, which brings its own tokenizer and has no program; leave it out"
            )


def _described(folder: Path) -> Description:
    path = folder / CONFIG
    if not path.is_file():
        raise ArtifactError(
            f"{path}: expected the configuration of a preset or of HuggingFace's format, got no "
            "such file; the folder is another one, or was not downloaded as a whole: get it again"
        )
    content = read_json(path)
    refuse_gpt2(folder, content)
    # Says what to install before anything else is said.
    backbone_class("BertBackbone", f"module {folder}")
    if preset_class(folder) is not None:
        return presets.describe(folder, content)
    try:
        from hub_modules.keras_hub import huggingface
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{folder}: reading HuggingFace's weights needs the package {error.name}; install the "
            f"extra: {INSTALL}"
        ) from None
    if huggingface.backbone_of(content) is None:
        got = content.get("model_type")
        raise ArtifactError(f"{path}: model_type: got {str(got)[:100]!r}; {no_backbone(str(got))}")
    return huggingface.describe(folder, content)
