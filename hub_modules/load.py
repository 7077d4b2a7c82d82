"""From a handle (shipped name, folder, URL) to an encoder that is verified and ready to run."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub_modules.errors import ConfigError
from hub_modules.families import FAMILIES
from hub_modules.find import encoder_folder, find_module, is_word_vectors
from hub_modules.huggingface_handles import family_of, native_folder
from hub_modules.kept_layers import refuse_keep_layers
from hub_modules.keras_hub.handles import keras_folder
from hub_modules.loading.loaded_module import LoadedModule
from hub_modules.loading.native import load_native
from hub_modules.loading.programs import load_black_box
from hub_modules.loading.published import load_published, published_source
from hub_modules.loading.tf1_elmo import load_tf1_elmo
from hub_modules.loading.word_vectors import load_word_vectors
from hub_modules.manifest_schemas import ModuleManifest
from hub_modules.output_files import OutputLayer, read_output_layer
from hub_modules.own_families import OWN_FAMILIES
from hub_modules.programs.saved_model import is_tf1
from hub_modules.programs.trusted import check_trusted, remember
from hub_modules.sources import published_bert, tf1_elmo
from hub_modules.verified import (
    read_module_manifest,
    verified_module,
    verified_preprocessor,
)


def load_module(
    handle: str | os.PathLike,
    execution: str | None = None,
    trust: bool = False,
    preprocessor: str | os.PathLike | None = None,
    dtype=None,
    pretrained: bool = True,
    classification_token: bool = False,
    keep_layers: Sequence[int] | None = None,
    new_tokens: int = 0,
    segments: int = 0,
) -> LoadedModule:
    """Finds, verifies and loads a module.

    Args:
        handle: the name of a shipped module, a folder (DIR or DIR/encoder), a Hub URL, one of
            `hub_modules.keras_hub.handles`, a folder of HuggingFace's format, or a `.txt` file of
            word vectors (these three are data, no programs: they need no trust).
        execution: "native" (our layer with the module's weights; recognised modules only),
            "saved_model" (the module's own program), or None: native where that is possible.
        trust: accept a program that neither ships nor was written or trusted by this user before,
            and a module without a manifest, whose files cannot be verified.
        preprocessor: handle of the preprocessing module, for a module without its own.
        dtype: dtype policy of the native encoder; a black box always computes in float32.
        pretrained: whether the native encoder gets the module's weights; False: random ones.
        classification_token: each row ends in a new token with an embedding of its own (causal,
            native): see `CausalPreprocessor`.
        keep_layers: numbers of the transformer layers that the native encoder has, from 0, bottom
            to top; None: all.
        new_tokens, segments: of tokens and of segments that the module lacks (causal, native): see
            `CausalEncoder`.

    Raises:
        ArtifactError: the module is missing, damaged, untrusted or of an unknown kind.
        ConfigError: `execution` is unknown, or this, `keep_layers` or `classification_token` not
            possible for this module.
    """
    if execution not in (None, "native", "saved_model"):
        raise ConfigError(
            f"execution: expected 'native' or 'saved_model' (or none), got {execution!r}"
        )
    asked = _Asked(
        os.fspath(handle),
        execution,
        trust,
        preprocessor,
        dtype,
        pretrained,
        classification_token,
        keep_layers,
        new_tokens,
        segments,
    )
    return _of_data(asked) or _of_module(asked)


@dataclass(frozen=True)
class _Asked:
    """The arguments of `load_module`."""

    handle: str
    execution: str | None
    trust: bool
    preprocessor: str | os.PathLike | None
    dtype: Any
    pretrained: bool
    classification_token: bool
    keep_layers: Sequence[int] | None
    new_tokens: int
    segments: int

    @property
    def options(self) -> dict:
        """Of `native_encoder`."""
        new_rows = self.new_tokens + (1 if self.classification_token else 0)
        given = {"new_rows": new_rows, "segments": self.segments}
        return {"dtype": self.dtype} | {name: count for name, count in given.items() if count}

    def check_token(self, family: str | None) -> None:
        """Refuses new tokens and segments for what takes none."""
        takes = family is not None and FAMILIES[family].takes_token
        if (self.new_tokens or self.segments) and (not takes or self.execution == "saved_model"):
            raise ConfigError(
                f"module {self.handle}: new tokens and segments (kind: dialog) need a causal "
                f"module that runs natively, got kind {family or 'none of ours'}, execution "
                f"{self.execution or 'native where possible'}; take lm_small or a GPT-2"
            )
        if self.classification_token and (not takes or self.execution == "saved_model"):
            raise ConfigError(
                f"module {self.handle}: classification_token=True (encoder.classification_token) "
                f"needs a causal module that runs natively, got kind {family or 'none of ours'}, "
                f"execution {self.execution or 'native where possible'}; leave it out"
            )


def _of_data(asked: _Asked) -> LoadedModule | None:
    """What is loaded from files that are data, no programs; None: the handle is a module's."""
    handle, execution, preprocessor = asked.handle, asked.execution, asked.preprocessor
    given = (asked.pretrained, asked.keep_layers)
    if (folder := keras_folder(handle)) is not None:
        # It builds Keras layers, which the command line and other families do without.
        from hub_modules.loading.keras_hub import load_keras_hub

        asked.check_token(None)
        return load_keras_hub(folder, handle, execution, preprocessor, asked.dtype, *given)
    if is_word_vectors(handle):
        refuse_keep_layers(asked.keep_layers, f"module {handle}", "word vectors")
        _check_options_of_word_vectors(handle, execution, preprocessor)
        asked.check_token(None)
        return load_word_vectors(find_module(handle), asked.dtype, asked.pretrained)
    if (folder := native_folder(handle)) is not None:
        from hub_modules.loading.huggingface import load_huggingface

        asked.check_token(family_of(folder))
        return load_huggingface(folder, handle, execution, preprocessor, asked.options, *given)
    return None


def _of_module(asked: _Asked) -> LoadedModule:
    """What is loaded from a module, which is verified first."""
    where, trust = f"module {asked.handle}", asked.trust
    module = verified_module(asked.handle, trust)
    preprocessing = None
    if asked.preprocessor is not None:
        preprocessing = verified_preprocessor(asked.preprocessor, trust)
    from_files = _native_way(module.folder, module.manifest)
    if asked.execution == "native" and from_files is None:
        raise ConfigError(
            f"{where}: its variables are not recognised, so it cannot run natively; "
            "use execution='saved_model', or convert the original weights with "
            "`tf-adapt module convert`"
        )
    kind = None if module.manifest is None else module.manifest.kind
    asked.check_token(kind)
    if asked.execution == "saved_model" and kind and FAMILIES[kind].program_takes_texts:
        raise ConfigError(
            f"{where}: expected execution native or none for an AWD-LSTM, whose program "
            "takes texts alone, got saved_model; leave execution out"
        )
    if asked.execution == "saved_model" or from_files is None:
        _check_has_weights(asked.handle, asked.pretrained)
        refuse_keep_layers(asked.keep_layers, where, "the module's own program")
        check_trusted(module.content, trust, where)
        loaded = load_black_box(module, preprocessing)
    elif from_files is load_tf1_elmo:
        refuse_keep_layers(asked.keep_layers, where, "an ELMo")
        loaded = load_tf1_elmo(module, preprocessing, asked.options, asked.pretrained)
    else:
        given = (asked.options, asked.pretrained, asked.keep_layers)
        loaded = from_files(module, preprocessing, *given)
    if module.manifest is None or loaded.execution == "saved_model":
        remember(module.content)
    if preprocessing is not None:
        remember(preprocessing.content)
    return loaded


def runs_natively(handle: str | os.PathLike, execution: str | None) -> bool:
    """Whether `load_module` would give a native encoder; nothing is loaded or verified.

    Args:
        handle, execution: as of `load_module`.

    Raises:
        ArtifactError, ConfigError: the module is missing, damaged or not complete.
    """
    if execution is not None:
        return execution == "native"
    data_alone = (keras_folder(handle), native_folder(handle))
    if any(folder is not None for folder in data_alone) or is_word_vectors(handle):
        return True
    folder = find_module(handle)
    return _native_way(folder, read_module_manifest(folder)) is not None


def _native_way(
    folder: Path, manifest: ModuleManifest | None
) -> Callable[..., LoadedModule] | None:
    """What loads a module natively; None if its variables are not recognised."""
    if manifest is not None:
        return load_native
    saved_model = encoder_folder(folder)
    if is_tf1(saved_model):
        return load_tf1_elmo if tf1_elmo.recognise(saved_model) else None
    return None if published_bert.recognise(saved_model) is None else load_published


def _check_has_weights(handle: str | os.PathLike, pretrained: bool) -> None:
    if not pretrained:
        raise ConfigError(
            f"module {handle}: pretrained=False (encoder.pretrained: false) needs the native "
            "encoder, got the module's own program, which has no other weights"
        )


def _check_options_of_word_vectors(
    handle: str | os.PathLike,
    execution: str | None,
    preprocessor: str | os.PathLike | None,
) -> None:
    if execution == "saved_model":
        raise ConfigError(
            f"module {handle}: word vectors are a file of numbers, not a program; expected "
            "execution 'native' or none, got 'saved_model'"
        )
    if preprocessor is not None:
        raise ConfigError(
            f"preprocessor: the words of {handle} are its preprocessing; leave the argument out "
            "(encoder.preprocessor: null)"
        )


def load_output_layer(
    handle: str | os.PathLike, encoder, fitted: bool = True, **options
) -> tuple[OutputLayer, list[str] | None] | None:
    """The output layer of a module's language model and, for ELMo, its words by id, or None.

    Args:
        handle: as of `load_module`.
        encoder: the native encoder (`LoadedModule.encoder`) whose hidden states the layer takes.
        fitted: whether a layer counts that was fitted after pretraining.
        options: Keras' (`name`, `dtype`, `trainable`).

    Raises:
        ArtifactError, ConfigError: as `hub_modules.output_files.read_output_layer`.
    """
    return read_output_layer(find_module(handle), encoder, fitted, **options)


def module_text_settings(handle: str | os.PathLike) -> dict | None:
    """What the text of a module's inputs needs, as arguments of `ModuleSource`: the vocabulary, and
    of a BERT and an AWD-LSTM whether it lower-cases, of a causal module the merges.

    None if only the graph of the preprocessing module holds it.

    Raises:
        ArtifactError: the module is missing or damaged.
    """
    folder = find_module(handle)
    if native_folder(folder) is not None:
        from hub_modules.loading.huggingface import source_of, texts_of

        return texts_of(source_of(folder))
    manifest = read_module_manifest(folder)
    if manifest is not None:
        return OWN_FAMILIES[manifest.kind].text_settings(folder, manifest)
    source = published_source(folder)
    if source is None or source.vocabulary is None or source.lower_case is None:
        return None
    return {"vocabulary": source.vocabulary, "lower_case": source.lower_case}
