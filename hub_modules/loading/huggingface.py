"""Folders of HuggingFace's format, and presets of keras-hub, with a native encoder of ours: read as
they are."""

from collections.abc import Sequence
from pathlib import Path

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.export import native_encoder
from hub_modules.huggingface_handles import preset_class
from hub_modules.kept_layers import kept_config, kept_hash, kept_weights
from hub_modules.keras_hub.presets import sentence_settings
from hub_modules.loading.loaded_module import LoadedModule
from hub_modules.manifest import module_hash
from hub_modules.own_families import OWN_FAMILIES
from hub_modules.sources import ModuleSource, huggingface, keras_nlp

# What the text of a module's inputs needs, by the names of `ModuleSource`.
_TEXTS = ("vocabulary", "lower_case", "merges", "added")


def load_huggingface(
    folder: Path,
    handle: str,
    execution: str | None,
    preprocessor,
    options: dict,
    pretrained: bool,
    keep_layers: Sequence[int] | None = None,
) -> LoadedModule:
    """A native encoder of a folder's weights; the folder holds data only: it needs no trust.

    Args:
        folder: of `hub_modules.huggingface_handles.native_folder`.
        options: of `native_encoder`; with `new_rows` each row ends in the first new token.
        pretrained: whether the encoder gets the folder's weights; False: random ones.
        keep_layers: the layers that the encoder has; None: all.

    Raises:
        ArtifactError: as `source_of`, `sentence_settings`; texts are changed before they are
            tokenized.
        ConfigError: an option is not possible here; as `kept_config`.
    """
    _check_options(handle, execution, preprocessor)
    source, sentence = source_of(folder), sentence_settings(folder)
    if sentence.lower_case and not source.lower_case:
        raise ArtifactError(
            f"{folder}: do_lower_case: sentence-transformers lower-cases texts before its "
            "tokenizer, which keeps upper case; that is not computed here: set it to false in "
            "sentence_bert_config.json, and give texts in lower case"
        )
    row = OWN_FAMILIES[source.family]
    config = kept_config(source.config, keep_layers, f"module {handle}", row.in_one_piece)
    encoder = native_encoder(source.family, config, **options)
    if pretrained:
        encoder.load_weights_by_name(kept_weights(source.weights, keep_layers))
    return LoadedModule(
        family=source.family,
        encoder=encoder,
        preprocessor=row.preprocessor(texts_of(source), config, "new_rows" in options),
        hash=kept_hash(module_hash(folder), keep_layers),
        execution="native",
        max_length=config["max_positions"],
        sentence=sentence,
    )


def source_of(folder: Path) -> ModuleSource:
    """What a `native_folder` holds.

    Raises:
        ArtifactError: as the `read` of `hub_modules.sources.huggingface`, `keras_nlp`.
    """
    reader = huggingface if preset_class(folder) is None else keras_nlp
    return reader.read(folder)


def texts_of(source: ModuleSource) -> dict:
    """What the text of a module's inputs needs, as arguments of `ModuleSource`."""
    given = {name: getattr(source, name) for name in _TEXTS}
    return {name: value for name, value in given.items() if value is not None}


def _check_options(handle: str, execution: str | None, preprocessor) -> None:
    if execution == "saved_model":
        raise ConfigError(
            f"module {handle}: execution: expected native or none for a folder of weights and "
            "settings, which has no program, got saved_model; leave it out"
        )
    if preprocessor is not None:
        raise ConfigError(
            f"preprocessor: the folder {handle} brings its own tokenizer; leave the argument out "
            "(encoder.preprocessor: null)"
        )
