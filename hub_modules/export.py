"""Writes a native encoder as a module: SavedModels in TF Hub's contract, and a manifest.

A written module depends on TensorFlow alone (preprocessing and ELMo's characters also on
tensorflow-text), not on this project: `hub.load` and, trainable, `hub.KerasLayer` load it.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf

from hub_modules.errors import ArtifactError
from hub_modules.manifest import module_hash, write_manifest
from hub_modules.native.awd_lstm import AwdLstmEncoder
from hub_modules.native.bert import BertEncoder
from hub_modules.native.causal import CausalEncoder, last_states
from hub_modules.native.elmo import ElmoEncoder
from hub_modules.output_files import write_output_layer
from hub_modules.preprocess import (
    BertPreprocessor,
    CausalPreprocessor,
    ElmoPreprocessor,
    LstmPreprocessor,
    hub_preprocessor,
)
from hub_modules.programs.signature_checks import check_shapes
from hub_modules.programs.trusted import remember
from hub_modules.sources import ModuleSource
from hub_modules.sources.causal_layout import write_own_byte_pairs
from hub_modules.sources.folder import write_vocabulary
from hub_modules.sources.layer_mix import LayerMix
from hub_modules.storage.files import publish_folder

ENCODERS = {
    "bert": BertEncoder,
    "elmo": ElmoEncoder,
    "causal": CausalEncoder,
    "lstm": AwdLstmEncoder,
}
_BERT_INPUTS = {
    name: tf.TensorSpec([None, None], tf.int32, name=name)
    for name in ("input_word_ids", "input_mask", "input_type_ids")
}
_ELMO_TOKENS = {
    "tokens": tf.TensorSpec([None, None], tf.string, name="tokens"),
    "sequence_len": tf.TensorSpec([None], tf.int32, name="sequence_len"),
}
_TEXT = tf.TensorSpec([None], tf.string, name="text")


def write_module(
    source: ModuleSource,
    folder: str | Path,
    beside: Mapping[str, str] | None = None,
    stored_as: str = "float32",
) -> None:
    """Writes `encoder`, `vocab.txt` (not for ELMo; causal: also `merges.txt`), for BERT and causal
    `preprocess`, and the manifest into a new folder.

    If the source has the output layer of a language model, `output_layer.npz` (ELMo: also
    `output_words.txt`) is written too.

    Args:
        beside: further files by name, as text: the module's README, for one.
        stored_as: "float32", or "float16": the encoder's weights are rounded and take half the
            space; whoever loads or runs the module computes in float32.

    Raises:
        ArtifactError: the folder exists or cannot be written, the weights do not fit, or one is
            beyond float16's range.
    """
    if source.family == "bert" and (source.vocabulary is None or source.lower_case is None):
        raise ArtifactError(
            f"{folder}: expected a vocabulary and its casing with the weights, got "
            f"{'no vocabulary' if source.vocabulary is None else 'no casing'}; add vocab.txt to "
            "the source, or say --lower-case or --cased"
        )
    if source.family == "lstm" and source.vocabulary is None:
        raise ArtifactError(
            f"{folder}: expected a vocabulary with the weights, got none; add vocab.txt to the "
            "source"
        )
    if source.family == "causal" and (source.vocabulary is None or source.merges is None):
        raise ArtifactError(
            f"{folder}: expected a vocabulary and its merges with the weights, got none; add "
            "vocab.json and merges.txt to the source"
        )
    encoder = native_encoder(source.family, source.config)
    encoder.load_weights_by_name(source.weights)
    if stored_as == "float16":
        _check_range(source, folder)
    with publish_folder(folder) as aside:
        # First: it may raise, and saving the encoder takes seconds.
        write_output_layer(source, aside)
        _SAVE[source.family](encoder, source, aside, stored_as)
        for name, text in (beside or {}).items():
            (aside / name).write_text(text, "utf-8")
        write_manifest(aside, _contract(encoder, source))
    remember(module_hash(folder))


def _check_range(source: ModuleSource, folder: str | Path) -> None:
    largest = float(np.finfo(np.float16).max)
    for name, array in source.weights.items():
        if np.abs(array).max() > largest:
            raise ArtifactError(
                f"{folder}: weight {name}: expected numbers up to {largest:g} to store in float16, "
                f"got {np.abs(array).max():g}; store the module in float32"
            )


def native_encoder(family: str, config: dict, **options):
    """A built native encoder with initial weights.

    Args:
        options: Keras' own (`name`, `dtype`), and causal `new_rows`, `segments`.
    """
    encoder = ENCODERS[family](**config, **options)
    encoder.build()
    return encoder


def _save_bert(encoder: BertEncoder, source: ModuleSource, folder: Path, stored_as: str) -> None:
    module = BertModule(encoder, stored_as)
    save_module(module, folder / "encoder", module.signatures())
    write_vocabulary(folder / "vocab.txt", source.vocabulary)
    preprocessor = BertPreprocessor(source.vocabulary, source.lower_case)
    save_module(hub_preprocessor(preprocessor), folder / "preprocess")


def _save_causal(
    encoder: CausalEncoder, source: ModuleSource, folder: Path, stored_as: str
) -> None:
    module = BertModule(encoder, stored_as)
    save_module(module, folder / "encoder", module.signatures())
    write_own_byte_pairs(folder, source.vocabulary, source.merges)
    preprocessor = CausalPreprocessor(source.vocabulary, source.merges)
    save_module(hub_preprocessor(preprocessor), folder / "preprocess")


def _save_elmo(encoder: ElmoEncoder, source: ModuleSource, folder: Path, stored_as: str) -> None:
    module = ElmoModule(encoder, source.mix, stored_as)
    save_module(module, folder / "encoder", module.signatures())


def _save_lstm(encoder: AwdLstmEncoder, source: ModuleSource, folder: Path, stored_as: str) -> None:
    preprocessor = LstmPreprocessor(source.vocabulary, source.lower_case)
    module = LstmModule(encoder, preprocessor, stored_as)
    save_module(module, folder / "encoder", module.signatures())
    write_vocabulary(folder / "vocab.txt", source.vocabulary)


_SAVE = {"bert": _save_bert, "elmo": _save_elmo, "causal": _save_causal, "lstm": _save_lstm}


def save_module(module, folder: Path, signatures: dict | None = None) -> None:
    """Writes a SavedModel.

    Raises:
        OSError: TensorFlow cannot write it; `publish_folder` adds the target folder to the message.
    """
    try:
        tf.saved_model.save(module, str(folder), signatures=signatures)
    except tf.errors.OpError as error:
        raise OSError(error.message) from error


def _contract(encoder, source: ModuleSource) -> dict:
    weights = encoder.weights_by_name()
    return {
        "kind": source.family,
        "config": source.config,
        "lower_case": source.lower_case,
        "groups": [name for name, _ in encoder.layer_groups],
        "weights": {name: list(weight.shape) for name, weight in weights.items()},
    }


class _EncoderModule(tf.__internal__.tracking.AutoTrackable):
    """A native encoder's weights as plain variables, named as in `weights_by_name`.

    Not a `tf.Module`: TF Hub's contract requires `variables` and `trainable_variables` as saved
    attributes, and those of a `tf.Module` are properties, which are not saved.
    """

    def __init__(self, encoder, stored_as: str = "float32"):
        self._call = encoder.stateless_call
        named = encoder.weights_by_name()
        by_weight = {
            id(weight): tf.Variable(weight.numpy().astype(stored_as), name=name)
            for name, weight in named.items()
        }
        # In the order of the arguments of `stateless_call`.
        self.encoder_variables = [by_weight[id(weight)] for weight in encoder.trainable_variables]
        self.variables = list(self.encoder_variables)
        self.trainable_variables = list(self.encoder_variables)
        self.regularization_losses = []
        self._num_seeds = len(encoder.non_trainable_variables)

    def encode(self, inputs: dict, training: bool) -> dict:
        values = [tf.cast(variable, tf.float32) for variable in self.encoder_variables]
        # Dropout's seeds are drawn at run time, so that the module needs no state of its own. The
        # draws are seeded: unseeded ones fail under `enable_op_determinism`.
        seeds = [
            tf.cast(tf.random.uniform([2], 0, 2**31 - 1, tf.int32, seed=number), tf.uint32)
            for number in range(1, self._num_seeds + 1)
        ]
        outputs, _ = self._call(values, seeds, inputs, training=training)
        return outputs


class BertModule(_EncoderModule):
    """TF Hub's transformer-encoder API, of BERT and causal transformers, with the extra output
    `embedding_output`.

    Shapes: `input_word_ids`, `input_mask`, `input_type_ids` `[batch, time] int32` →
    `pooled_output` = `default` `[batch, width]`, `sequence_output` `[batch, time, width]`,
    `encoder_outputs` (one `[batch, time, width]` a block), `embedding_output`.
    """

    @tf.function
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

        @tf.function(input_signature=[_BERT_INPUTS])
        def serve(inputs):
            forms = dict.fromkeys(_BERT_INPUTS, "[batch, time] int32")
            outputs = self(check_shapes(forms, inputs), training=False)
            return {name: output for name, output in outputs.items() if name != "encoder_outputs"}

        return {"serving_default": serve}


class ElmoModule(_EncoderModule):
    """The interface of google/elmo, trainable.

    Shapes: `tokens` `[batch, time] string` (padded with "") and `sequence_len` `[batch] int32`, or
    texts `[batch] string` split at white space → `word_emb` `[batch, time, width / 2]`,
    `lstm_outputs1`, `lstm_outputs2`, `elmo` `[batch, time, width]` (softmax-weighted sum of the
    layers times a scale, both trainable), `default` `[batch, width]` (mean of `elmo` over words).

    Args:
        mix: the first values of weights and scale; None: the plain mean.
    """

    def __init__(
        self, encoder: ElmoEncoder, mix: LayerMix | None = None, stored_as: str = "float32"
    ):
        super().__init__(encoder, stored_as)
        self.characters = ElmoPreprocessor()
        mix = mix or LayerMix((0.0,) * (encoder.num_layers + 1), 1.0)
        self.aggregation_weights = tf.Variable(
            tf.constant(mix.weights, tf.float32), name="aggregation/weights"
        )
        self.aggregation_scaling = tf.Variable(mix.scale, name="aggregation/scaling")
        for variable in (self.aggregation_weights, self.aggregation_scaling):
            self.variables.append(variable)
            self.trainable_variables.append(variable)

    @tf.function
    def __call__(self, inputs, training=False):
        if isinstance(inputs, dict):
            tokens, lengths = inputs["tokens"], inputs["sequence_len"]
            words = tf.RaggedTensor.from_tensor(tokens, lengths=lengths)
            length = tf.shape(tokens)[1]
        else:
            words = self.characters.tokenize(inputs)
            length = tf.cast(tf.reduce_max(words.row_lengths(), axis=0), tf.int32)
        encoded = self.encode(self.characters.pack([words], length=length), training)
        return self._outputs(encoded["layers"], encoded["mask"])

    def _outputs(self, layers: list, mask) -> dict:
        weights = tf.unstack(tf.nn.softmax(self.aggregation_weights))
        mixed = self.aggregation_scaling * sum(
            weight * layer for weight, layer in zip(weights, layers, strict=True)
        )
        count = tf.reduce_sum(tf.cast(mask, tf.float32), axis=1, keepdims=True)
        tokens = layers[0]
        return {
            "word_emb": tokens[..., : tokens.shape[-1] // 2],
            **{f"lstm_outputs{index}": layer for index, layer in enumerate(layers[1:], 1)},
            "elmo": mixed,
            # An empty text has no words: its mean is zero, not a division by zero.
            "default": tf.reduce_sum(mixed, axis=1) / tf.maximum(count, 1.0),
        }

    def signatures(self) -> dict:
        """Traces both modes and both kinds of input; returns the two signatures of google/elmo."""
        for training in (False, True):
            self.__call__.get_concrete_function(_ELMO_TOKENS, training=training)
            self.__call__.get_concrete_function(_TEXT, training=training)

        @tf.function(input_signature=[_TEXT])
        def default(text):
            checked = check_shapes({"text": "[batch] string"}, {"text": text})
            return self(checked["text"], training=False)

        @tf.function(input_signature=list(_ELMO_TOKENS.values()))
        def tokens(tokens, sequence_len):
            forms = {"tokens": "[batch, time] string", "sequence_len": "[batch] int32"}
            inputs = {"tokens": tokens, "sequence_len": sequence_len}
            return self(check_shapes(forms, inputs), training=False)

        return {"serving_default": default, "default": default, "tokens": tokens}


class LstmModule(_EncoderModule):
    """An AWD-LSTM on texts, trainable.

    Shapes: texts `[batch] string` → `sequence_output` `[batch, time, width]` (the top LSTM),
    `embedding_output` `[batch, time, width]`, `mask` `[batch, time] bool`, `default`
    `[batch, width]` (the state of the last word).
    """

    def __init__(self, encoder: AwdLstmEncoder, words: LstmPreprocessor, stored_as: str):
        super().__init__(encoder, stored_as)
        self.words = words

    @tf.function
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

        @tf.function(input_signature=[_TEXT])
        def serve(text):
            checked = check_shapes({"text": "[batch] string"}, {"text": text})
            return self(checked["text"], training=False)

        return {"serving_default": serve}
