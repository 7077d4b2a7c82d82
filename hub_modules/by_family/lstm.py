"""AWD-LSTM as a module of ours; its program takes texts alone."""

from pathlib import Path

import tensorflow as tf

from hub_modules.by_family.encoder_module import EncoderModule, save_module
from hub_modules.by_family.row import Row
from hub_modules.manifest_schemas import ModuleManifest
from hub_modules.native.awd_lstm import AwdLstmEncoder
from hub_modules.native.causal import last_states
from hub_modules.native.output_layers import TiedLanguageModelHead
from hub_modules.preprocess import LstmPreprocessor
from hub_modules.programs.signature_checks import check_shapes
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import write_vocabulary
from hub_modules.sources.layouts.awd_lstm import awd_lstm_shapes, read_lstm_words

_TEXT = tf.TensorSpec([None], tf.string, name="text")


class LstmModule(EncoderModule):
    """An AWD-LSTM on texts, trainable.

    Shapes: texts `[batch] string` → `sequence_output` `[batch, time, width]` (the top LSTM),
    `embedding_output` `[batch, time, width]`, `mask` `[batch, time] bool`, `default`
    `[batch, width]` (the state of the last word).
    """

    def __init__(self, encoder: AwdLstmEncoder, words: LstmPreprocessor, stored_as: str):
        super().__init__(encoder, stored_as)
        self.words = words

    @tf.function(autograph=False)
    def __call__(self, inputs, training=False):
        encoded = self.encode(self.words.pack([self.words.tokenize(inputs)]), training)
        top, mask = encoded["layers"][-1], encoded["mask"]
        return {
            "default": last_states(top, mask),
            "sequence_output": top,
            "embedding_output": encoded["layers"][0],
            "mask": mask,
        }

    def signatures(self) -> dict:
        """Traces both modes; returns the serving signature."""
        for training in (False, True):
            self.__call__.get_concrete_function(_TEXT, training=training)

        @tf.function(input_signature=[_TEXT], autograph=False)
        def serve(text):
            checked = check_shapes({"text": "[batch] string"}, {"text": text})
            return self(checked["text"], training=False)

        return {"serving_default": serve}


def _text_settings(folder: Path, manifest: ModuleManifest) -> dict:
    vocabulary = read_lstm_words(folder / "vocab.txt", manifest.config.vocabulary_size)
    return {"vocabulary": vocabulary, "lower_case": manifest.lower_case}


def _preprocessor(texts: dict, config: dict, classification_token: bool):
    return LstmPreprocessor(texts["vocabulary"], texts["lower_case"])


def _missing(source: ModuleSource) -> str:
    if source.vocabulary is not None:
        return ""
    return "a vocabulary with the weights, got none; add vocab.txt to the source"


def _save(encoder: AwdLstmEncoder, source: ModuleSource, folder: Path, stored_as: str) -> None:
    preprocessor = LstmPreprocessor(source.vocabulary, source.lower_case)
    module = LstmModule(encoder, preprocessor, stored_as)
    save_module(module, folder / "encoder", module.signatures())
    write_vocabulary(folder / "vocab.txt", source.vocabulary)


def _output_layer(config: dict, words: None, **options) -> TiedLanguageModelHead:
    return TiedLanguageModelHead(config["vocabulary_size"], **options)


ROW = Row(
    AwdLstmEncoder,
    awd_lstm_shapes,
    _preprocessor,
    _text_settings,
    _missing,
    _save,
    _output_layer,
    in_one_piece="an AWD-LSTM",
)
