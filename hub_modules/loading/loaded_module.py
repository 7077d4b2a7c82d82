"""What every way of loading a module returns."""

from dataclasses import dataclass
from typing import Any

from hub_modules.sentence_transformers import SentenceSettings
from hub_modules.sources.layouts.layer_mix import LayerMix


@dataclass(frozen=True)
class LoadedModule:
    """An encoder with its preprocessor, loaded from a handle."""

    family: str
    encoder: Any  # a native encoder, BlackBoxEncoder or SentenceEncoder
    preprocessor: Any
    hash: str
    execution: str  # "native" or "saved_model"
    max_length: int | None  # BERT: most positions, special tokens included; None: unbounded
    mix: LayerMix | None = None  # an ELMo module's own, where the encoder has its weights
    sentence: SentenceSettings = SentenceSettings()
