"""BERT as a module of ours."""

from pathlib import Path

import tensorflow as tf

from hub_modules.by_family.encoder_module import EncoderModule, save_module
from hub_modules.by_family.row import Row
from hub_modules.manifest_schemas import ModuleManifest
from hub_modules.native.bert import BertEncoder
from hub_modules.native.output_layers import MaskedLanguageModelHead
from hub_modules.preprocess import BertPreprocessor, hub_preprocessor
from hub_modules.programs.signature_checks import check_shapes
from hub_modules.sources import ModuleSource
from hub_modules.sources.files.folder import read_vocabulary, write_vocabulary
from hub_modules.sources.layouts.bert import bert_shapes

_BERT_INPUTS = {
    name: tf.TensorSpec([None, None], tf.int32, name=name)
    for name in ("input_word_ids", "input_mask", "input_type_ids")
}


class BertModule(EncoderModule):
    """TF Hub's transformer-encoder API, of BERT and causal transformers, with the extra output
    `embedding_output`.

    Shapes: `input_word_ids`, `input_mask`, `input_type_ids` `[batch, time] int32` →
    `pooled_output` = `default` `[batch, width]`, `sequence_output` `[batch, time, width]`,
    `encoder_outputs` (one `[batch, time, width]` a block), `embedding_output`.
    """

    @tf.function(autograph=False)
    def __call__(self, inputs, training=False):
        encoded = self.encode(inputs, training)
        embedding_output, *blocks = encoded["layers"]
        return {
            "default": encoded["pooled"],
            "pooled_output": encoded["pooled"],
            "sequence_output": blocks[-1],
            "encoder_outputs": blocks,
            "embedding_output": embedding_output,
        }

    def signatures(self) -> dict:
        """Traces both modes; returns the serving signature."""
        for training in (False, True):
            self.__call__.get_concrete_function(_BERT_INPUTS, training=training)

        @tf.function(input_signature=[_BERT_INPUTS], autograph=False)
        def serve(inputs):
            forms = dict.fromkeys(_BERT_INPUTS, "[batch, time] int32")
            outputs = self(check_shapes(forms, inputs), training=False)
            return {name: output for name, output in outputs.items() if name != "encoder_outputs"}

        return {"serving_default": serve}


def save_programs(encoder, preprocessor, folder: Path, stored_as: str) -> None:
    """Writes `encoder` and `preprocess`, whose inputs and outputs are BERT's."""
    module = BertModule(encoder, stored_as)
    save_module(module, folder / "encoder", module.signatures())
    save_module(hub_preprocessor(preprocessor), folder / "preprocess")


def _text_settings(folder: Path, manifest: ModuleManifest) -> dict:
    vocabulary = read_vocabulary(folder / "vocab.txt", manifest.config.vocabulary_size)
    return {"vocabulary": vocabulary, "lower_case": manifest.lower_case}


def _preprocessor(texts: dict, config: dict, classification_token: bool):
    return BertPreprocessor(**texts)


def _missing(source: ModuleSource) -> str:
    if source.vocabulary is not None and source.lower_case is not None:
        return ""
    got = "no vocabulary" if source.vocabulary is None else "no casing"
    return (
        f"a vocabulary and its casing with the weights, got {got}; add vocab.txt to the source, or "
        "say --lower-case or --cased"
    )


def _save(encoder: BertEncoder, source: ModuleSource, folder: Path, stored_as: str) -> None:
    write_vocabulary(folder / "vocab.txt", source.vocabulary)
    save_programs(
        encoder, BertPreprocessor(source.vocabulary, source.lower_case), folder, stored_as
    )


def _output_layer(config: dict, words: None, **options) -> MaskedLanguageModelHead:
    names = ("width", "vocabulary_size", "activation", "layer_norm_epsilon")
    return MaskedLanguageModelHead(**{n: config[n] for n in names if n in config}, **options)


ROW = Row(BertEncoder, bert_shapes, _preprocessor, _text_settings, _missing, _save, _output_layer)
