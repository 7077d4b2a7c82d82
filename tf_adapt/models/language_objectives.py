"""The language model that each family of encoders was pretrained with, by a row each."""

from collections.abc import Callable
from dataclasses import dataclass

import keras

from hub_modules.load import load_output_layer
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.language_losses import (
    NUM_SAMPLES,
    BiLanguageModel,
    CausalLanguageModel,
    LstmLanguageModel,
    MaskedLanguageModel,
)

# How to get a module with an output layer in place of one without.
GET_OUTPUT_LAYER = (
    "convert its weights again with `tf-adapt module convert`, from a source that has it "
    "(HuggingFace: cls.predictions.* or heads.safetensors; bilm-tf: softmax.npz and vocab.txt; "
    "fastai: 1.decoder.*)"
)


def language_model_objective(
    encoder: HubEncoder, num_samples: int = NUM_SAMPLES
) -> MaskedLanguageModel | BiLanguageModel | CausalLanguageModel | LstmLanguageModel:
    """The objective that a module was pretrained with, on the module's own output layer.

    A causal module's is its table of word embeddings.

    Args:
        num_samples: ELMo: words sampled for the softmax in training; see `BiLanguageModel`.

    Raises:
        ConfigError: the module is none of BERT, ELMo, causal and AWD-LSTM, has no output layer or
            no [MASK], or does not run natively.
    """
    if encoder.execution != "native":
        raise ConfigError(
            f"module {encoder.handle}: a language-model loss needs the native encoder, got "
            f"execution: {encoder.execution}; use a module that can run natively"
        )
    if encoder.family not in OBJECTIVES:
        raise ConfigError(
            f"module {encoder.handle}: a language-model loss is for a BERT, an ELMo, a causal "
            f"module or an AWD-LSTM, got the family {encoder.family}; use such a module, or leave "
            "it out"
        )
    options = {"name": "language_model", "dtype": encoder.dtype_policy}
    row = OBJECTIVES[encoder.family]
    if not row.has_output_layer:
        return row.make(encoder, None, None, num_samples, options)
    loaded = load_output_layer(
        encoder.handle, encoder.native, name="output_layer", dtype=encoder.dtype_policy
    )
    if loaded is None:
        raise ConfigError(
            f"module {encoder.handle}: a language-model loss needs the output layer "
            "(output_layer.npz), which this module does not have; "
            f"{GET_OUTPUT_LAYER}"
        )
    return row.make(encoder, *loaded, num_samples, options)


def _masked(encoder, layer, words, num_samples, options) -> MaskedLanguageModel:
    return MaskedLanguageModel(layer, encoder.preprocessor.special_token_ids, **options)


def _bidirectional(encoder, layer, words, num_samples, options) -> BiLanguageModel:
    return BiLanguageModel(layer, words, num_samples, **options)


def _causal(encoder, layer, words, num_samples, options) -> CausalLanguageModel:
    return CausalLanguageModel(**options)


def _of_words(encoder, layer, words, num_samples, options) -> LstmLanguageModel:
    return LstmLanguageModel(layer, encoder.native.output_dropout, **options)


@dataclass(frozen=True)
class Objective:
    """The language model that a family was pretrained with.

    Attributes:
        name: of the source task.
        make: an encoder, its output layer and its words, `num_samples`, Keras' options → the layer.
        has_output_layer: whether the output layer has weights of its own.
        masks: whether it predicts masked pieces.
        is_tied: whether the output layer reads the table of word embeddings.
    """

    name: str
    make: Callable[..., keras.layers.Layer]
    has_output_layer: bool = True
    masks: bool = False
    is_tied: bool = True


OBJECTIVES = {
    "bert": Objective("masked_language_model", _masked, masks=True),
    "elmo": Objective("bidirectional_language_model", _bidirectional, is_tied=False),
    "causal": Objective("causal_language_model", _causal, has_output_layer=False),
    "lstm": Objective("word_language_model", _of_words),
}
