"""ELMo as a module of ours."""

from pathlib import Path

import tensorflow as tf

from hub_modules.by_family.encoder_module import EncoderModule, save_module
from hub_modules.by_family.row import Row
from hub_modules.native.elmo import ElmoEncoder
from hub_modules.native.output_layers import BiLanguageModelHead
from hub_modules.preprocess import ElmoPreprocessor
from hub_modules.programs.signature_checks import check_shapes
from hub_modules.sources import ModuleSource
from hub_modules.sources.bilm_tf import elmo_shapes
from hub_modules.sources.layouts.layer_mix import LayerMix

_ELMO_TOKENS = {
    "tokens": tf.TensorSpec([None, None], tf.string, name="tokens"),
    "sequence_len": tf.TensorSpec([None], tf.int32, name="sequence_len"),
}
_TEXT = tf.TensorSpec([None], tf.string, name="text")


class ElmoModule(EncoderModule):
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

    @tf.function(autograph=False)
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

        @tf.function(input_signature=[_TEXT], autograph=False)
        def default(text):
            checked = check_shapes({"text": "[batch] string"}, {"text": text})
            return self(checked["text"], training=False)

        @tf.function(input_signature=list(_ELMO_TOKENS.values()), autograph=False)
        def tokens(tokens, sequence_len):
            forms = {"tokens": "[batch, time] string", "sequence_len": "[batch] int32"}
            inputs = {"tokens": tokens, "sequence_len": sequence_len}
            return self(check_shapes(forms, inputs), training=False)

        return {"serving_default": default, "default": default, "tokens": tokens}


def _preprocessor(texts: dict, config: dict, classification_token: bool):
    return ElmoPreprocessor()


def _save(encoder: ElmoEncoder, source: ModuleSource, folder: Path, stored_as: str) -> None:
    module = ElmoModule(encoder, source.mix, stored_as)
    save_module(module, folder / "encoder", module.signatures())


def _output_layer(config: dict, words: list[str], **options) -> BiLanguageModelHead:
    return BiLanguageModelHead(len(words), config["projection_width"], **options)


ROW = Row(
    ElmoEncoder,
    elmo_shapes,
    _preprocessor,
    text_settings=lambda folder, manifest: {},
    missing=lambda source: "",
    save=_save,
    output_layer=_output_layer,
    has_output_words=True,
    in_one_piece="an ELMo",
)
