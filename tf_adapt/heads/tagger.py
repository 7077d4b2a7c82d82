"""Heads for tagging: the state of each word, BiLSTMs or none, then softmax or a CRF."""

import keras
import tensorflow as tf

from tf_adapt.heads.linear import output_layer
from tf_adapt.layers.bi_lstm import BiLstm
from tf_adapt.layers.crf import CRF
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.layers.texts import read_states

# A gentle pull of the mix of layers towards equal weights.
MIX_PENALTY = 1e-3


@keras.saving.register_keras_serializable("tf_adapt")
class Tagger(keras.layers.Layer):
    """`W dropout(h) + b` on a state h of each word, and with `crf` a linear-chain CRF on these.

    The states are those of the encoder's top layer, or with `mixed` a learned average of its
    layers. `lstm_layers` BiLSTMs run over them, for BERT over all word pieces, with dropout before
    each; then a word's state is that of its first piece.

    Shapes: encoded, a list of one encoder output (`layers`: list of `[batch, time, width]`,
    `mask`: `[batch, time] bool`); inputs with `first_piece` `[batch, words] int32`, the position of
    each word's first piece, or without it where the encoder has one state a word → logits
    `[batch, words, num_outputs] float32`. With `crf` a dict: these `logits`, from which the CRF's
    loss is computed, and `tags` `[batch, words] int32`, the best path (−1 at padding).

    Masking: logits at padding (`first_piece` −1) have no meaning.

    Args:
        num_outputs: number of tags.
        lstm_layers: number of BiLSTMs.
        units: width of each direction of a BiLSTM.
        crf: score sequences of tags instead of each tag by itself.
        constraints: for the CRF, which tag may follow which: see `tag_constraints`.
        mixed: read a `ScalarMix` of all layers.
        dropout: share of each state's units dropped while training, before each BiLSTM and before
            the last layer.

    Source: Peters, Ruder, Smith 2019, section 3 and table 5; Lample et al. 2016 (BiLSTM and CRF);
    Devlin et al. 2019, section 5.3 (first piece). Without start and end scores, as in AllenNLP's
    configuration for ELMo.
    """

    def __init__(
        self,
        num_outputs: int,
        lstm_layers: int = 0,
        units: int = 200,
        crf: bool = False,
        constraints: list[list[bool]] | None = None,
        mixed: bool = False,
        dropout: float = 0.1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_outputs = num_outputs
        self.lstm_layers = lstm_layers
        self.units = units
        self.crf = crf
        self.constraints = constraints
        self.mixed = mixed
        self.dropout = dropout
        policy = self.dtype_policy
        self.mix = ScalarMix(l2=MIX_PENALTY, name="mix", dtype=policy) if mixed else None
        self.dropouts = [keras.layers.Dropout(dropout, dtype=policy) for _ in range(lstm_layers)]
        self.lstms = [
            BiLstm(units, name=f"lstm_{index}", dtype=policy) for index in range(lstm_layers)
        ]
        self.last_dropout = keras.layers.Dropout(dropout, dtype=policy)
        self.dense = output_layer(num_outputs)
        self.chain = (
            CRF(num_outputs, constraints, boundary_scores=False, name="crf", dtype=policy)
            if crf
            else None
        )

    def build(self, encoded_shape, inputs_shape=None):
        text = encoded_shape[0] if isinstance(encoded_shape, list) else encoded_shape
        if self.mix:
            self.mix.build(text["layers"])
        width = text["layers"][-1][-1]
        for lstm in self.lstms:
            lstm.build((None, None, width))
            width = 2 * self.units
        self.dense.build((None, None, width))
        if self.chain:
            self.chain.build((None, None, self.num_outputs))

    def call(self, encoded, inputs=None, training=None):
        (states,), mask = read_states(encoded, self.mix, training), encoded[0]["mask"]
        for dropout, lstm in zip(self.dropouts, self.lstms, strict=True):
            states = lstm(dropout(states, training=training), mask)
        if inputs is not None and "first_piece" in inputs:
            # Several times faster than `keras.ops.take_along_axis`, which repeats the positions
            # for every unit.
            states = tf.gather(states, tf.maximum(inputs["first_piece"], 0), batch_dims=1)
            mask = inputs["first_piece"] >= 0
        logits = self.dense(self.last_dropout(states, training=training))
        if not self.chain:
            return logits
        tags, _ = self.chain.decode(logits, mask)
        return {"logits": logits, "tags": tags}

    def probabilities(self, outputs: dict):
        """Of each word's tags under the CRF, 0 at padding: not in the outputs, since training has
        no use for them.

        Shapes: the outputs of a call → `[batch, words, num_outputs] float32`.
        """
        return self.chain.marginals(outputs["logits"], outputs["tags"] >= 0)

    def loss(self, targets, outputs: dict, sample_weight=None):
        """The CRF's: minus the log-likelihood of a sentence's tags, averaged over sentences.

        Shapes: targets `[batch, words] int32` (−1 is padding), the outputs of a call,
        sample_weight `[batch]` → scalar.
        """
        return self.chain.loss(targets, outputs["logits"], sample_weight)

    def get_config(self) -> dict:
        return super().get_config() | {
            "num_outputs": self.num_outputs,
            "lstm_layers": self.lstm_layers,
            "units": self.units,
            "crf": self.crf,
            "constraints": self.constraints,
            "mixed": self.mixed,
            "dropout": self.dropout,
        }
