"""Modules of ours: config and vocabulary from the manifest's folder, weights from its variables."""

from collections.abc import Sequence
from pathlib import Path

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.export import native_encoder
from hub_modules.kept_layers import kept_config, kept_hash, kept_weights
from hub_modules.loading.loaded_module import LoadedModule
from hub_modules.own_families import OWN_FAMILIES
from hub_modules.sources.layouts.layer_mix import LayerMix, layer_mix
from hub_modules.storage.tf_checkpoint import read_variables, variable_shapes
from hub_modules.verified import Verified


def load_native(
    module: Verified,
    preprocessing: Verified | None,
    options: dict,
    pretrained: bool,
    keep_layers: Sequence[int] | None = None,
) -> LoadedModule:
    """A module of ours as a native encoder.

    Args:
        preprocessing: the module that the user names; refused, for the module brings its own.
        options: of `native_encoder`; with `new_rows` each row ends in the first new token.
        pretrained: whether the encoder gets the module's weights; False: random ones.
        keep_layers: the layers that the encoder has; None: all.

    Raises:
        ArtifactError: its weights do not fit its manifest, or its vocabulary is damaged.
        ConfigError: `own` is given, or as `kept_config`.
    """
    manifest, config = module.manifest, module.manifest.arguments()
    _check_fit(module.folder, manifest.kind, config)
    in_one_piece = OWN_FAMILIES[manifest.kind].in_one_piece
    config = kept_config(config, keep_layers, f"module {module.folder}", in_one_piece)
    encoder = native_encoder(manifest.kind, config, **options)
    mix = None
    if pretrained:
        arrays = read_variables(module.folder / "encoder")
        encoder.load_weights_by_name(kept_weights(_without_mix(arrays), keep_layers))
        mix = _mix(arrays, config, module.folder)
    return LoadedModule(
        family=manifest.kind,
        encoder=encoder,
        preprocessor=own_preprocessor(module, preprocessing, "new_rows" in options),
        hash=kept_hash(module.content, keep_layers),
        execution="native",
        max_length=config.get("max_positions"),
        mix=mix,
    )


def _check_fit(folder: Path, kind: str, config: dict) -> None:
    """Compares the weights of a config with the stored ones, before memory is allocated."""
    shapes = OWN_FAMILIES[kind].shapes(config)
    stored = _without_mix(variable_shapes(folder / "encoder"))
    names = sorted(shapes.keys() | stored)
    differing = [name for name in names if shapes.get(name) != stored.get(name)]
    for name in differing[:1]:
        raise ArtifactError(
            f"{folder}: weight {name}: expected {shapes.get(name, 'none')} by the manifest's "
            f"config, got {stored.get(name, 'none')} in the files ({len(differing)} weights "
            "differ); convert the module again"
        )


def _without_mix(weights: dict) -> dict:
    """Weights without an ELMo module's own scalar mix, which is not part of the encoder."""
    return {name: value for name, value in weights.items() if not name.startswith("aggregation/")}


def _mix(arrays: dict, config: dict, folder: Path) -> LayerMix | None:
    """An ELMo module's own mix of its layers; None for a module without."""
    weights, scale = (arrays.get(f"aggregation/{name}") for name in ("weights", "scaling"))
    if weights is None or scale is None:
        return None
    return layer_mix(weights, scale, config["num_layers"] + 1, str(folder))


def own_preprocessor(
    module: Verified, preprocessing: Verified | None, classification_token: bool = False
):
    """The preprocessor that a module of ours brings.

    Args:
        classification_token: see `CausalPreprocessor`.

    Raises:
        ConfigError: the user names another one.
        ArtifactError: the vocabulary is damaged.
    """
    if preprocessing is not None:
        raise ConfigError(
            f"preprocessor: module {module.folder} brings its own preprocessing; leave the "
            "argument out (encoder.preprocessor: null)"
        )
    row, config = OWN_FAMILIES[module.manifest.kind], module.manifest.arguments()
    texts = row.text_settings(module.folder, module.manifest)
    return row.preprocessor(texts, config, classification_token)
