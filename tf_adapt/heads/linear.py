"""The simplest head for a sentence or a pair that the encoder has pooled: one dense layer."""

import keras


@keras.saving.register_keras_serializable("tf_adapt")
class LinearHead(keras.layers.Layer):
    """`W dropout(v) + b` on the encoder's `pooled` vector v of the text or the pair.

    Shapes: encoded, a list of one encoder output (`pooled`: `[batch, width]`) → logits
    `[batch, num_outputs] float32`, or `[batch] float32` for regression.

    Args:
        num_outputs: number of labels; 1 for regression.
        dropout: share of the vector's units dropped while training.
        regression: return one number per example instead of a row.

    Source: Devlin et al. 2019, section 4.
    """

    def __init__(self, num_outputs: int, dropout: float = 0.1, regression: bool = False, **kwargs):
        super().__init__(**kwargs)
        if regression and num_outputs != 1:
            raise ValueError(f"num_outputs: expected 1 for regression, got {num_outputs}")
        self.num_outputs = num_outputs
        self.dropout = dropout
        self.regression = regression
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        text = encoded_shape[0] if isinstance(encoded_shape, list) else encoded_shape
        self.dense.build(text["pooled"])

    def call(self, encoded, inputs=None, training=None):
        logits = self.dense(self.dropout_layer(encoded[0]["pooled"], training=training))
        return logits[:, 0] if self.regression else logits

    def get_config(self) -> dict:
        return super().get_config() | {
            "num_outputs": self.num_outputs,
            "dropout": self.dropout,
            "regression": self.regression,
        }


def output_layer(num_outputs: int) -> keras.layers.Dense:
    """The dense layer that makes logits, in float32 under every policy.

    Truncated normal kernel with σ = 0.02 and zero bias, as google-research/bert initialises its
    classifiers.
    """
    return keras.layers.Dense(
        num_outputs,
        kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
        dtype="float32",
        name="output",
    )
