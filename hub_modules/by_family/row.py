"""What is done with a family of encoders whose modules are ours."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras

from hub_modules.manifest_schemas import ModuleManifest
from hub_modules.sources import ModuleSource


@dataclass(frozen=True)
class Row:
    """The functions and names of a family.

    Attributes:
        encoder: the class of the native encoder.
        shapes: the encoder's arguments → the shape of each weight by name.
        preprocessor: what `text_settings` gives, the encoder's arguments and whether rows end in a
            classification token → texts to packed inputs.
        text_settings: a module's folder and its manifest → the arguments of `ModuleSource` for
            texts.
        missing: a source → what a module of it would lack and what to add; empty: nothing.
        save: the encoder, its source, a folder, the dtype: writes `encoder`, and what texts need.
        output_layer: the encoder's arguments, ELMo's words and Keras' options → the output layer of
            its language model; None: it has no weights of its own.
        has_output_words: whether the output layer has words of its own, in a file.
        in_one_piece: what it is, for the message that its layers cannot be left out; empty: they
            can.
    """

    encoder: type[keras.layers.Layer]
    shapes: Callable[[dict], dict[str, tuple]]
    preprocessor: Callable[[dict, dict, bool], Any]
    text_settings: Callable[[Path, ModuleManifest], dict]
    missing: Callable[[ModuleSource], str]
    save: Callable[[Any, ModuleSource, Path, str], None]
    output_layer: Callable[..., keras.layers.Layer] | None
    has_output_words: bool = False
    in_one_piece: str = ""
