"""The simplest head for texts and pairs, on one vector of each row: one dense layer."""

import keras

from tf_adapt.heads.head_layer import HeadLayer, check_regression, first_text
from tf_adapt.layers.head_inputs import POOLED, HeadInputs, state_inputs
from tf_adapt.layers.pooling import check_pooling
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.layers.standardisation import Standardisation
from tf_adapt.layers.texts import read_vectors


@keras.saving.register_keras_serializable("tf_adapt")
class LinearHead(HeadLayer):
    """`W dropout(v) + b` on the encoder's `pooled` vector v of the text or the pair.

    With `pooling` v is the first or last hidden state of the row (for BERT that of `[CLS]`, without
    the pooler's dense layer, or of the last `[SEP]`), or the mean or maximum of those of its words:
    see `row_vectors`. The hidden states are those of the top layer, or with `mixed` a `ScalarMix`.
    With `scaled` the vectors of each layer are standardised over the training texts, then mixed:
    layers and features of a frozen encoder differ much in scale.

    Shapes: encoded, a list of one encoder output (`pooled`: `[batch, width]`; with `pooling`
    `layers`: list of `[batch, time, width]`, `mask`: `[batch, time] bool`); the inputs, by which
    special tokens are left out → logits `[batch, num_outputs] float32`, or `[batch] float32` for
    regression.

    Masking: padding is not pooled; a row without a real position has the vector 0.

    Args:
        num_outputs: number of labels; 1 for regression.
        dropout: dropout rate of the vector.
        regression: return one number per example instead of a row.
        pooling: None (the encoder's pooled vector), "first", "last", "mean" or "max".
        mixed: with `pooling`, use a `ScalarMix` of all layers instead of the top layer.
        scaled: with `pooling`, standardise; `fit` and a run set mean and deviation once.

    Source: Devlin et al. 2019, section 4 (the pooled vector).
    """

    def __init__(
        self,
        num_outputs: int,
        dropout: float = 0.1,
        regression: bool = False,
        pooling: str | None = None,
        mixed: bool = False,
        scaled: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_regression(regression, num_outputs)
        if pooling is not None:
            check_pooling(pooling)
        self.num_outputs = num_outputs
        self.dropout = dropout
        self.regression = regression
        self.pooling = pooling
        self.mixed = mixed
        self.scaled = scaled
        self.mix = ScalarMix(name="mix", dtype=self.dtype_policy) if pooling and mixed else None
        self.scaling = None
        if pooling and scaled:
            self.scaling = Standardisation(name="scaling", dtype=self.dtype_policy)
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        text = first_text(encoded_shape)
        if self.mix:
            self.mix.build(text["layers"])
        width = (text["layers"][-1] if self.pooling else text["pooled"])[-1]
        if self.scaling:
            self.scaling.build((None, len(text["layers"]) if self.mixed else 1, width))
        self.dense.build((None, width))

    def call(self, encoded, inputs=None, training=None):
        given = (self.pooling, self.mix, self.scaling, training)
        (vector,) = read_vectors(encoded[:1], inputs, *given)
        logits = self.dense(self.dropout_layer(vector, training=training))
        return logits[:, 0] if self.regression else logits

    @property
    def head_inputs(self) -> HeadInputs:
        """What has to be kept of a frozen encoder for this head."""
        return state_inputs(self.mixed, self.pooling, self.scaled) if self.pooling else POOLED


def output_layer(num_outputs: int) -> keras.layers.Dense:
    """The dense layer that computes logits, in float32 under every dtype policy.

    Truncated normal kernel with σ = 0.02 and zero bias, as google-research/bert initialises its
    classifiers.
    """
    return keras.layers.Dense(
        num_outputs,
        kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
        dtype="float32",
        name="output",
    )
