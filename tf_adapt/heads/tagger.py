"""Heads for tagging: the hidden state of each word, optional BiLSTMs, then softmax or a CRF."""

import keras

from tf_adapt.heads.head_layer import HeadLayer
from tf_adapt.heads.linear import output_layer
from tf_adapt.layers.bi_lstm import BiLstm
from tf_adapt.layers.crf import CRF
from tf_adapt.layers.pooling import check_pooling
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.layers.texts import input_states
from tf_adapt.layers.word_pieces import word_states

# L2 penalty of the mix's weights, towards a plain mean of the layers.
MIX_PENALTY = 1e-3


@keras.saving.register_keras_serializable("tf_adapt")
class Tagger(HeadLayer):
    """`W dropout(h) + b` on the hidden state h of each word; with `crf` a linear-chain CRF on top.

    The hidden states are those of the encoder's top layer, or with `mixed` a `ScalarMix` of its
    layers. `lstm_layers` BiLSTMs run over them, for BERT over all word pieces, with dropout before
    each; then a word's state is that of its first piece, or as `word_pieces` says.

    Shapes: encoded, a list of one encoder output (`layers`: list of `[batch, time, width]`,
    `mask`: `[batch, time] bool`); inputs with `first_piece` `[batch, words] int32`, the position of
    each word's first piece, and `last_piece`, of its last, or without them if the encoder has one
    state per word → logits `[batch, words, num_outputs] float32`. With `crf` a dict: these
    `logits`, from which the CRF's loss is computed, and `tags` `[batch, words] int32`, the best
    path (−1 at padding).

    Masking: logits at padding (`first_piece` −1) are undefined.

    Args:
        num_outputs: number of tags.
        lstm_layers: number of BiLSTMs.
        units: width of each direction of a BiLSTM.
        crf: score sequences of tags instead of each tag independently.
        constraints: for the CRF, which tag may follow which: see `tag_constraints`.
        mixed: use a `ScalarMix` of all layers.
        dropout: dropout rate before each BiLSTM and before the last layer.
        word_pieces: "first", "last", "mean" or "max": a word's state from those of its pieces, see
            `word_states`.

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
        word_pieces: str = "first",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_pooling(word_pieces, "word_pieces")
        self.num_outputs = num_outputs
        self.lstm_layers = lstm_layers
        self.units = units
        self.crf = crf
        self.constraints = constraints
        self.mixed = mixed
        self.dropout = dropout
        self.word_pieces = word_pieces
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
        text = self.built_mix(encoded_shape)
        width = text["layers"][-1][-1]
        for lstm in self.lstms:
            lstm.build((None, None, width))
            width = 2 * self.units
        self.dense.build((None, None, width))
        if self.chain:
            self.chain.build((None, None, self.num_outputs))

    @property
    def output_shape(self) -> tuple:
        """Shape of the logits, for `model.summary()`."""
        return (None, None, self.num_outputs)

    def call(self, encoded, inputs=None, training=None):
        (states,), mask = input_states(encoded, self.mix, training), encoded[0]["mask"]
        for dropout, lstm in zip(self.dropouts, self.lstms, strict=True):
            states = lstm(dropout(states, training=training), mask)
        states, mask = word_states(states, mask, inputs, self.word_pieces)
        logits = self.dense(self.last_dropout(states, training=training))
        if not self.chain:
            return logits
        tags, _ = self.chain.decode(logits, mask)
        return {"logits": logits, "tags": tags}

    def probabilities(self, outputs: dict):
        """Marginal probabilities of each word's tags under the CRF, 0 at padding. Not among the
        outputs of a call, because training does not need them.

        Shapes: the outputs of a call → `[batch, words, num_outputs] float32`.
        """
        return self.chain.marginals(outputs["logits"], outputs["tags"] >= 0)

    def loss(self, targets, outputs: dict, sample_weight=None):
        """The CRF's negative log-likelihood, averaged over sentences.

        Shapes: targets `[batch, words] int32` (−1 is padding), the outputs of a call,
        sample_weight `[batch]` → scalar.
        """
        return self.chain.loss(targets, outputs["logits"], sample_weight)
