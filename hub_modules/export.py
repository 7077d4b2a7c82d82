"""Writes a native encoder as a module: SavedModels in TF Hub's contract, and a manifest.

What is written needs TensorFlow alone (BERT's preprocessing and ELMo's characters: tensorflow-text
too), not this project: it works in plain `hub.load` and, trainable, in `hub.KerasLayer`.
"""

from pathlib import Path

import tensorflow as tf

from hub_modules.bert import BertEncoder
from hub_modules.elmo import ElmoEncoder
from hub_modules.manifest import write_manifest
from hub_modules.output_files import write_output_layer
from hub_modules.preprocess import BertPreprocessor, ElmoPreprocessor, hub_preprocessor
from hub_modules.sources import ModuleSource
from hub_modules.sources.folder import write_vocabulary
from tf_adapt.errors import ArtifactError
from tf_adapt.files import publish_folder

ENCODERS = {"bert": BertEncoder, "elmo": ElmoEncoder}
_BERT_INPUTS = {
    name: tf.TensorSpec([None, None], tf.int32, name=name)
    for name in ("input_word_ids", "input_mask", "input_type_ids")
}
_ELMO_TOKENS = {
    "tokens": tf.TensorSpec([None, None], tf.string, name="tokens"),
    "sequence_len": tf.TensorSpec([None], tf.int32, name="sequence_len"),
}
_ELMO_TEXT = tf.TensorSpec([None], tf.string, name="text")


def write_module(source: ModuleSource, folder: str | Path) -> None:
    """Writes `encoder`, for BERT `preprocess` and `vocab.txt`, and the manifest into a new folder.

    Where the source has the output layer of a language model, `output_layer.npz` (ELMo:
    `output_words.txt` too) stands beside them.

    Raises:
        ArtifactError: the folder exists or cannot be written, the weights do not fit, or the
            encoder has adapters.
    """
    if source.family == "bert" and (source.vocabulary is None or source.lower_case is None):
        raise ArtifactError(
            f"{folder}: expected a vocabulary and its casing with the weights, got "
            f"{'no vocabulary' if source.vocabulary is None else 'no casing'}; add vocab.txt to "
            "the source, or say --lower-case or --cased"
        )
    if source.config.get("adapters") is not None:
        raise ArtifactError(
            f"{folder}: expected an encoder without adapters, got {source.config['adapters']!r}: "
            "a module has no place for them; write them with `save_adapters`, or export the "
            "whole model for serving"
        )
    encoder = native_encoder(source.family, source.config)
    encoder.load_weights_by_name(source.weights)
    with publish_folder(folder) as aside:
        # First, for it may be refused, and the encoder takes seconds.
        write_output_layer(source, aside)
        if source.family == "bert":
            _save_bert(encoder, source, aside)
        else:
            _save_elmo(encoder, aside)
        write_manifest(aside, _contract(encoder, source))


def native_encoder(family: str, config: dict, **options) -> BertEncoder | ElmoEncoder:
    """A built native encoder with initial weights.

    Args:
        options: Keras' own (`name`, `dtype`), and `adapters`, `adapter_size`.
    """
    encoder = ENCODERS[family](**config, **options)
    encoder.build()
    return encoder


def _save_bert(encoder: BertEncoder, source: ModuleSource, folder: Path) -> None:
    module = BertModule(encoder)
    save_module(module, folder / "encoder", module.signatures())
    write_vocabulary(folder / "vocab.txt", source.vocabulary)
    preprocessor = BertPreprocessor(source.vocabulary, source.lower_case)
    save_module(hub_preprocessor(preprocessor), folder / "preprocess")


def _save_elmo(encoder: ElmoEncoder, folder: Path) -> None:
    module = ElmoModule(encoder)
    save_module(module, folder / "encoder", module.signatures())


def save_module(module, folder: Path, signatures: dict | None = None) -> None:
    """Writes a SavedModel.

    Raises:
        OSError: TensorFlow cannot write it; `publish_folder` names the folder that was meant.
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

    Not a `tf.Module`: the contract wants `variables` and `trainable_variables` as attributes that
    are saved, and there they are properties that are not.
    """

    def __init__(self, encoder):
        self._call = encoder.stateless_call
        named = encoder.weights_by_name()
        by_weight = {
            id(weight): tf.Variable(weight.numpy(), name=name) for name, weight in named.items()
        }
        # In the order in which the Keras layer wants their values.
        self.encoder_variables = [by_weight[id(weight)] for weight in encoder.trainable_variables]
        self.variables = list(self.encoder_variables)
        self.trainable_variables = list(self.encoder_variables)
        self.regularization_losses = []
        self._num_seeds = len(encoder.non_trainable_variables)

    def encode(self, inputs: dict, training: bool) -> dict:
        values = [tf.convert_to_tensor(variable) for variable in self.encoder_variables]
        # Dropout's seeds are drawn at run time, so that the module needs no state of its own. The
        # draws are seeded: unseeded ones fail where a user has asked for deterministic operations.
        seeds = [
            tf.cast(tf.random.uniform([2], 0, 2**31 - 1, tf.int32, seed=number), tf.uint32)
            for number in range(1, self._num_seeds + 1)
        ]
        outputs, _ = self._call(values, seeds, inputs, training=training)
        return outputs


class BertModule(_EncoderModule):
    """TF Hub's transformer-encoder API, and the embedding output under a key of its own.

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
            outputs = self(inputs, training=False)
            return {name: output for name, output in outputs.items() if name != "encoder_outputs"}

        return {"serving_default": serve}


class ElmoModule(_EncoderModule):
    """The interface of google/elmo, trainable.

    Shapes: `tokens` `[batch, time] string` (padded with "") and `sequence_len` `[batch] int32`, or
    texts `[batch] string` split at white space → `word_emb` `[batch, time, width / 2]`,
    `lstm_outputs1`, `lstm_outputs2`, `elmo` `[batch, time, width]` (softmax-weighted sum of the
    layers times a scale, both trainable), `default` `[batch, width]` (mean of `elmo` over words).
    """

    def __init__(self, encoder: ElmoEncoder):
        super().__init__(encoder)
        self.characters = ElmoPreprocessor()
        self.aggregation_weights = tf.Variable(
            tf.zeros([encoder.num_layers + 1]), name="aggregation/weights"
        )
        self.aggregation_scaling = tf.Variable(1.0, name="aggregation/scaling")
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
            self.__call__.get_concrete_function(_ELMO_TEXT, training=training)

        @tf.function(input_signature=[_ELMO_TEXT])
        def default(text):
            return self(text, training=False)

        @tf.function(input_signature=list(_ELMO_TOKENS.values()))
        def tokens(tokens, sequence_len):
            return self({"tokens": tokens, "sequence_len": sequence_len}, training=False)

        return {"serving_default": default, "default": default, "tokens": tokens}
