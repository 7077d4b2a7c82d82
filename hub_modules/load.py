"""From a handle (shipped name, folder, URL) to an encoder that is verified and ready to run."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from hub_modules.black_box import BlackBoxEncoder, family_of
from hub_modules.checkpoint import read_variables
from hub_modules.export import native_encoder
from hub_modules.manifest import module_hash, read_manifest, verify
from hub_modules.preprocess import (
    BertPreprocessor,
    ElmoPreprocessor,
    ElmoTokensPreprocessor,
    SavedModelPreprocessor,
)
from hub_modules.shipped import PRETRAINED, shipped_names
from hub_modules.sources import published_bert
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

    Raises:
        ArtifactError: the module is missing, damaged, untrusted or of an unknown kind.
        ConfigError: `execution` is unknown, or not possible for this module.
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
        verify(folder, manifest)
    recognised = manifest is not None or published_bert.recognise(_encoder_folder(folder))
    if execution == "native" and not recognised:
        raise ConfigError(
            f"module {handle}: its variables are not recognised, so it cannot run natively; "
            "use execution='saved_model', or convert the original weights with "
            "`tf-adapt module convert`"
        )
    if execution == "saved_model" or not recognised:
        return _black_box(folder, manifest, preprocessor)
    if manifest is not None:
        return _from_manifest(folder, manifest, dtype)
    return _from_published(folder, preprocessor, dtype)


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


def _from_manifest(folder: Path, manifest: dict, dtype) -> LoadedModule:
    encoder = native_encoder(manifest["kind"], manifest["config"], dtype=dtype)
    arrays = read_variables(folder / "encoder")
    wanted = encoder.weights_by_name()
    # The module's own scalar mix is not part of the encoder.
    extra = {"aggregation/weights", "aggregation/scaling"}
    encoder.load_weights_by_name({k: v for k, v in arrays.items() if k in wanted or k not in extra})
    return LoadedModule(
        family=manifest["kind"],
        encoder=encoder,
        preprocessor=_own_preprocessor(folder, manifest),
        hash=module_hash(folder),
        execution="native",
        max_length=manifest["config"].get("max_positions"),
    )


def _own_preprocessor(folder: Path, manifest: dict):
    if manifest["kind"] == "elmo":
        return ElmoPreprocessor()
    return BertPreprocessor(read_vocabulary(folder / "vocab.txt"), manifest["lower_case"])


def read_vocabulary(path: Path) -> list[str]:
    """Word pieces of a vocabulary file, one a line, in the order of their ids."""
    # Not splitlines(): it also breaks at characters that occur inside word pieces.
    return path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")


def _from_published(folder: Path, preprocessor, dtype) -> LoadedModule:
    saved_model = _encoder_folder(folder)
    source = published_bert.read(saved_model)
    encoder = native_encoder("bert", source.config, dtype=dtype)
    encoder.load_weights_by_name(source.weights)
    return LoadedModule(
        family="bert",
        encoder=encoder,
        preprocessor=_given_preprocessor(folder, preprocessor)
        or BertPreprocessor(source.vocabulary, source.lower_case),
        hash=module_hash(folder),
        execution="native",
        max_length=source.config["max_positions"],
    )


def _black_box(folder: Path, manifest: dict | None, preprocessor) -> LoadedModule:
    saved_model = _encoder_folder(folder)
    module = _restore(saved_model)
    family = family_of(module)
    encoder = BlackBoxEncoder(module, family, name=f"{family}_black_box", dtype="float32")
    if family == "elmo":
        given, max_length = ElmoTokensPreprocessor(), None
    else:
        given = _given_preprocessor(folder, preprocessor)
        if given is None and manifest is not None:
            given = _own_preprocessor(folder, manifest)
        if given is None and published_bert.recognise(saved_model):
            source = published_bert.read(saved_model)
            given = BertPreprocessor(source.vocabulary, source.lower_case)
        if given is None:
            raise ConfigError(
                f"module {folder}: it brings no preprocessing; name its preprocessing module with "
                "preprocessor= (encoder.preprocessor in a config)"
            )
        max_length = _positions(encoder)
    return LoadedModule(family, encoder, given, module_hash(folder), "saved_model", max_length)


def _given_preprocessor(folder: Path, preprocessor):
    """The preprocessing module named by the user, or the one beside a plain encoder."""
    if preprocessor is not None:
        return SavedModelPreprocessor(_restore(find_module(preprocessor)))
    beside = folder / "preprocess"
    if beside.is_dir() and not (folder / "manifest.json").is_file():
        return SavedModelPreprocessor(_restore(beside))
    return None


def _positions(encoder: BlackBoxEncoder) -> int | None:
    for weight in encoder.module_weights:
        if "position_embedding" in weight.value.name:
            return int(weight.shape[0])
    return None


def _restore(saved_model: Path):
    import tensorflow_text  # noqa: F401  # registers the ops of preprocessing modules

    try:
        # A TF1 module of the Hub has no tags; the loader must be told.
        tags = [] if (saved_model / "tfhub_module.pb").is_file() else None
        return tf.saved_model.load(str(saved_model), tags=tags)
    except Exception as error:
        # A damaged SavedModel surfaces as OSError, ValueError, IndexError or a TensorFlow error.
        raise ArtifactError(
            f"module {saved_model}: cannot be loaded as a SavedModel "
            f"({' '.join(str(error).split())[:120]}); fetch, install or convert it again"
        ) from error
