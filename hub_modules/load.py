"""From a handle (shipped name, folder, URL) to an encoder that is verified and ready to run."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from hub_modules.black_box import BlackBoxEncoder, family_of
from hub_modules.export import ENCODERS, native_encoder
from hub_modules.manifest import module_hash, read_manifest, verify
from hub_modules.output_files import OutputLayer, read_output_layer
from hub_modules.preprocess import (
    BertPreprocessor,
    ElmoPreprocessor,
    ElmoTokensPreprocessor,
    SavedModelPreprocessor,
)
from hub_modules.shipped import PRETRAINED, shipped_names
from hub_modules.sources import ModuleSource, published_bert
from hub_modules.sources.folder import read_vocabulary
from hub_modules.tf_checkpoint import read_variables
from tf_adapt.errors import ArtifactError, ConfigError


@dataclass(frozen=True)
class LoadedModule:
    """What a handle stands for."""

    family: str
    encoder: Any  # BertEncoder, ElmoEncoder or BlackBoxEncoder
    preprocessor: Any
    hash: str
    execution: str  # "native" or "saved_model"
    max_length: int | None  # BERT: positions, special tokens included; None where there is no bound


def load_module(
    handle: str | os.PathLike,
    execution: str | None = None,
    trust: bool = False,
    preprocessor: str | os.PathLike | None = None,
    dtype=None,
    adapters: str | None = None,
    adapter_size: int = 64,
    pretrained: bool = True,
) -> LoadedModule:
    """Finds, verifies and loads a module.

    Args:
        handle: the name of a shipped module, a folder (DIR or DIR/encoder), or a Hub URL.
        execution: "native" (our layer with the module's weights; recognised modules only),
            "saved_model" (the module's own program), or None: native where that is possible.
        trust: accept a module without a manifest: its files cannot be verified, and its program
            runs with your rights.
        preprocessor: handle of the preprocessing module, where the module brings none.
        dtype: dtype policy of the native encoder; a black box always computes in float32.
        adapters, adapter_size: of the native encoder: see `BertEncoder`, `ElmoEncoder`.
        pretrained: whether the native encoder gets the module's weights; False: random ones.

    Raises:
        ArtifactError: the module is missing, damaged, untrusted or of an unknown kind.
        ConfigError: `execution` or `adapters` is unknown, or not possible for this module.
    """
    if execution not in (None, "native", "saved_model"):
        raise ConfigError(
            f"execution: expected 'native' or 'saved_model' (or none), got {execution!r}"
        )
    folder = find_module(handle)
    manifest = read_manifest(folder)
    if manifest is None and not trust:
        raise ArtifactError(
            f"module {handle}: it has no manifest, so its files cannot be verified; if you trust "
            "where it comes from, say so with trust=True (--trust, or trust: true in a config)"
        )
    if manifest is not None:
        _check_kind(folder, manifest)
        verify(folder, manifest)
    if preprocessor is not None:
        preprocessor = _trusted(preprocessor, trust)
    recognised = manifest is not None or (
        not _is_tf1(folder) and published_bert.recognise(_encoder_folder(folder)) is not None
    )
    if execution == "native" and not recognised:
        raise ConfigError(
            f"module {handle}: its variables are not recognised, so it cannot run natively; "
            "use execution='saved_model', or convert the original weights with "
            "`tf-adapt module convert`"
        )
    if execution == "saved_model" or not recognised:
        if adapters is not None:
            raise ConfigError(
                f"module {handle}: adapters={adapters!r} needs the native encoder, got "
                f"{'execution=' + repr(execution) if execution else 'a module not recognised'}: "
                "the module's own program cannot be changed inside; leave out adapters, or "
                "execution where the module is recognised (`tf-adapt module inspect`)"
            )
        if not pretrained:
            raise ConfigError(
                f"module {handle}: pretrained=False (encoder.pretrained: false) needs the native "
                "encoder, got the module's own program, which has no other weights"
            )
        return _black_box(folder, manifest, preprocessor)
    options = {"dtype": dtype, "adapters": adapters, "adapter_size": adapter_size}
    if manifest is not None:
        return _from_manifest(folder, manifest, preprocessor, options, pretrained)
    return _from_published(folder, preprocessor, options, pretrained)


def load_output_layer(
    handle: str | os.PathLike, encoder, **options
) -> tuple[OutputLayer, list[str] | None] | None:
    """The output layer of a module's language model and, for ELMo, its words by id, or None.

    Args:
        handle: as of `load_module`.
        encoder: the native encoder (`LoadedModule.encoder`) that the layer is to stand on.
        options: Keras' (`name`, `dtype`, `trainable`).

    Raises:
        ArtifactError, ConfigError: as `hub_modules.output_files.read_output_layer`.
    """
    return read_output_layer(find_module(handle), encoder, **options)


def module_text_settings(handle: str | os.PathLike) -> tuple[list[str], bool] | None:
    """The vocabulary of a BERT module and whether it lower-cases; None where the module's
    preprocessing hides them.

    Raises:
        ArtifactError: the module is missing or damaged.
    """
    folder = find_module(handle)
    manifest = read_manifest(folder)
    if manifest is not None:
        pieces = read_vocabulary(folder / "vocab.txt", manifest["config"]["vocabulary_size"])
        return pieces, manifest["lower_case"]
    source = _published(folder)
    if source is None or source.vocabulary is None or source.lower_case is None:
        return None
    return source.vocabulary, source.lower_case


def _check_kind(folder: Path, manifest: dict) -> None:
    if manifest.get("kind") not in ENCODERS:
        raise ArtifactError(
            f"{folder}: expected a module ({' or '.join(ENCODERS)}), got one of kind "
            f"{manifest.get('kind')!r}; an export is used with `tf-adapt predict`"
        )


def _trusted(preprocessor: str | os.PathLike, trust: bool) -> Path:
    """The SavedModel of a preprocessing module, verified, or trusted in words: it is a program."""
    folder = find_module(preprocessor)
    home = folder.parent if folder.name == "preprocess" else folder
    manifest = read_manifest(home)
    if manifest is not None:
        verify(home, manifest)
    elif not trust:
        raise ArtifactError(
            f"preprocessing module {preprocessor}: it has no manifest, so its files cannot be "
            "verified; if you trust where it comes from, say so with trust=True (--trust)"
        )
    return home / "preprocess" if (home / "preprocess").is_dir() else folder


def find_module(handle: str | os.PathLike) -> Path:
    """The folder of a module: the one with the manifest, or that of a plain SavedModel.

    Raises:
        ArtifactError: there is none, or its files are incomplete.
    """
    text = os.fspath(handle)
    if text.startswith(("http://", "https://")):
        folder = _from_hub(text)
    elif text in shipped_names():
        folder = PRETRAINED / text
    else:
        folder = Path(text)
    if not folder.is_dir():
        raise ArtifactError(
            f"module {text}: no such folder; expected a folder, a Hub URL, or the name of a "
            f"shipped module ({', '.join(shipped_names())})"
        )
    if folder.name == "encoder" and (folder.parent / "manifest.json").is_file():
        folder = folder.parent
    _check_complete(folder, text)
    return folder


def _from_hub(url: str) -> Path:
    # Imported here: it needs the old pkg_resources, and only URLs need it.
    import tensorflow_hub as hub

    cache = os.environ.get("TFHUB_CACHE_DIR")
    try:
        return Path(hub.resolve(url))
    except Exception as error:
        # The resolver lets urllib's, tarfile's and TensorFlow's errors through.
        raise ArtifactError(
            f"module {url}: cannot be fetched ({' '.join(str(error).split())[:120]}); connect to "
            "the network, or download it elsewhere and give its folder as the handle "
            f"(TFHUB_CACHE_DIR is {cache or 'not set'})"
        ) from error


def _check_complete(folder: Path, handle: str) -> None:
    """A cache folder that a cleaner emptied file by file must not count as a module."""
    saved_model = _encoder_folder(folder)
    for name in ("saved_model.pb", "variables/variables.index"):
        if not (saved_model / name).is_file():
            raise ArtifactError(
                f"module {handle}: {saved_model / name} is missing; remove the folder {folder} and "
                "fetch, install or convert the module again"
            )
    if not list(saved_model.glob("variables/variables.data-*")):
        raise ArtifactError(
            f"module {handle}: {saved_model}/variables/variables.data-* is missing; remove the "
            f"folder {folder} and fetch, install or convert the module again"
        )


def _encoder_folder(folder: Path) -> Path:
    return folder / "encoder" if (folder / "encoder").is_dir() else folder


def _from_manifest(
    folder: Path, manifest: dict, preprocessor, options: dict, pretrained: bool
) -> LoadedModule:
    encoder = native_encoder(manifest["kind"], manifest["config"], **options)
    if pretrained:
        arrays = read_variables(folder / "encoder")
        # An ELMo module's own scalar mix is not part of the encoder.
        encoder.load_weights_by_name(
            {name: array for name, array in arrays.items() if not name.startswith("aggregation/")}
        )
    return LoadedModule(
        family=manifest["kind"],
        encoder=encoder,
        preprocessor=_own_preprocessor(folder, manifest, preprocessor),
        hash=module_hash(folder),
        execution="native",
        max_length=manifest["config"].get("max_positions"),
    )


def _own_preprocessor(folder: Path, manifest: dict, preprocessor):
    if preprocessor is not None:
        raise ConfigError(
            f"preprocessor: module {folder} brings its own preprocessing; leave the argument out "
            "(encoder.preprocessor: null)"
        )
    if manifest["kind"] == "elmo":
        return ElmoPreprocessor()
    vocabulary = read_vocabulary(folder / "vocab.txt", manifest["config"]["vocabulary_size"])
    return BertPreprocessor(vocabulary, manifest["lower_case"])


def _from_published(folder: Path, preprocessor, options: dict, pretrained: bool) -> LoadedModule:
    source = _published(folder)
    encoder = native_encoder("bert", source.config, **options)
    if pretrained:
        encoder.load_weights_by_name(source.weights)
    return LoadedModule(
        family="bert",
        encoder=encoder,
        preprocessor=_foreign_preprocessor(folder, source, preprocessor),
        hash=module_hash(folder),
        execution="native",
        max_length=source.config["max_positions"],
    )


def _black_box(folder: Path, manifest: dict | None, preprocessor) -> LoadedModule:
    module = _restore(_encoder_folder(folder))
    family = family_of(module)
    encoder = BlackBoxEncoder(module, family, name=f"{family}_black_box", dtype="float32")
    if family == "elmo":
        given, max_length = ElmoTokensPreprocessor(), None
    else:
        given = (
            _foreign_preprocessor(folder, _published(folder), preprocessor)
            if manifest is None
            else _own_preprocessor(folder, manifest, preprocessor)
        )
        max_length = _positions(encoder)
    return LoadedModule(family, encoder, given, module_hash(folder), "saved_model", max_length)


def _published(folder: Path) -> ModuleSource | None:
    """What a published BERT's variables and assets say; None for any other module."""
    saved_model = _encoder_folder(folder)
    if published_bert.recognise(saved_model) is None:
        return None
    return published_bert.read(saved_model)


def _foreign_preprocessor(folder: Path, source: ModuleSource | None, preprocessor):
    """What turns text into the inputs of a BERT without a manifest.

    In this order: the preprocessing module that the user names, the module's own vocabulary, the
    preprocessing module beside it.
    """
    if preprocessor is not None:
        return SavedModelPreprocessor(_restore(preprocessor))
    if source is not None and source.vocabulary is not None and source.lower_case is not None:
        return BertPreprocessor(source.vocabulary, source.lower_case)
    if (folder / "preprocess").is_dir():
        return SavedModelPreprocessor(_restore(folder / "preprocess"))
    raise ConfigError(
        f"module {folder}: it brings no preprocessing; name its preprocessing module with "
        "preprocessor= (encoder.preprocessor in a config)"
    )


def _positions(encoder: BlackBoxEncoder) -> int | None:
    for weight in encoder.module_weights:
        if "position_embedding" in weight.value.name:
            return int(weight.shape[0])
    return None


def _is_tf1(saved_model: Path) -> bool:
    return (saved_model / "tfhub_module.pb").is_file()


def _restore(saved_model: Path):
    import tensorflow_text  # noqa: F401  # registers the ops of preprocessing modules

    try:
        # A TF1 module of the Hub has no tags; the loader must be told.
        tags = [] if _is_tf1(saved_model) else None
        return tf.saved_model.load(str(saved_model), tags=tags)
    except Exception as error:
        # A damaged SavedModel surfaces as OSError, ValueError, IndexError or a TensorFlow error.
        raise ArtifactError(
            f"module {saved_model}: cannot be loaded as a SavedModel "
            f"({' '.join(str(error).split())[:120]}); fetch, install or convert it again"
        ) from error
