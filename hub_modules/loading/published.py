"""Published BERT modules: weights and vocabulary are read from the SavedModel's variables."""

from collections.abc import Sequence
from pathlib import Path

from hub_modules.errors import ConfigError
from hub_modules.export import native_encoder
from hub_modules.find import encoder_folder
from hub_modules.kept_layers import kept_config, kept_hash, kept_weights
from hub_modules.loading.loaded_module import LoadedModule
from hub_modules.preprocess import BertPreprocessor, SavedModelPreprocessor
from hub_modules.programs.saved_model import restore_program
from hub_modules.sources import ModuleSource, published_bert
from hub_modules.verified import Verified


def load_published(
    module: Verified,
    preprocessing: Verified | None,
    options: dict,
    pretrained: bool,
    keep_layers: Sequence[int] | None = None,
) -> LoadedModule:
    """A published BERT module as a native encoder.

    Args:
        preprocessing: the module that the user names, or None.
        options: of `native_encoder`.
        pretrained: whether the encoder gets the module's weights; False: random ones.
        keep_layers: the layers that the encoder has; None: all.

    Raises:
        ArtifactError: the module is damaged.
        ConfigError: it brings no preprocessing, and none is named; or as `kept_config`.
    """
    source = published_source(module.folder)
    config = kept_config(source.config, keep_layers, f"module {module.folder}")
    encoder = native_encoder("bert", config, **options)
    if pretrained:
        encoder.load_weights_by_name(kept_weights(source.weights, keep_layers))
    return LoadedModule(
        family="bert",
        encoder=encoder,
        preprocessor=foreign_preprocessor(module, source, preprocessing),
        hash=kept_hash(module.content, keep_layers),
        execution="native",
        max_length=source.config["max_positions"],
    )


def published_source(folder: Path) -> ModuleSource | None:
    """Config, weights and vocabulary of a published BERT module; None for any other module."""
    saved_model = encoder_folder(folder)
    if published_bert.recognise(saved_model) is None:
        return None
    return published_bert.read(saved_model)


def foreign_preprocessor(
    module: Verified, source: ModuleSource | None, preprocessing: Verified | None
):
    """The preprocessor of a BERT module without a manifest.

    In this order: the preprocessing module that the user names, the module's own vocabulary, the
    preprocessing module in the same folder.

    Raises:
        ConfigError: there is none of them.
    """
    if preprocessing is not None:
        return SavedModelPreprocessor(
            restore_program(preprocessing.folder, preprocessing.content, "preprocess")
        )
    if source is not None and source.vocabulary is not None and source.lower_case is not None:
        return BertPreprocessor(source.vocabulary, source.lower_case)
    if (module.folder / "preprocess").is_dir():
        beside = restore_program(module.folder / "preprocess", module.content, "preprocess")
        return SavedModelPreprocessor(beside)
    raise ConfigError(
        f"module {module.folder}: it brings no preprocessing; name its preprocessing module with "
        "preprocessor= (encoder.preprocessor in a config)"
    )
