"""The simplest head for a sentence or a pair: one vector per text, dropout, one dense layer."""

import keras
from keras import ops

POOLINGS = ("pooled", "max")


@keras.saving.register_keras_serializable("tf_adapt")
class LinearHead(keras.layers.Layer):
    """`W dropout(v) + b` on a vector v of the text or the pair.

    v is the encoder's `pooled` vector, or the largest value of each unit over the real words of the
    top layer. Of two texts encoded separately, u and v, it is `[u; v; |u − v|; u ⊙ v]`.

    Shapes: encoded, a list of one or two encoder outputs (`layers`: list of
    `[batch, time, width]`, `mask`: `[batch, time] bool`, `pooled`: `[batch, width]`) → logits
    `[batch, num_outputs] float32`, or `[batch] float32` for regression.

    Masking: padding is never pooled; a text without a single real word has the vector 0.

    Args:
        num_outputs: number of labels; 1 for regression.
        dropout: share of the vector's units dropped while training.
        pooling: "pooled" (BERT) or "max" (ELMo).
        regression: return one number per example instead of a row.

    Source: Devlin et al. 2019, section 4 (pooled); Peters, Ruder, Smith 2019, section 3 (max);
    Conneau et al. 2017, figure 1 (features of a pair).
    """

    def __init__(
        self,
        num_outputs: int,
        dropout: float = 0.1,
        pooling: str = "pooled",
        regression: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if pooling not in POOLINGS:
            raise ValueError(f"pooling: expected one of {', '.join(POOLINGS)}, got {pooling!r}")
        if regression and num_outputs != 1:
            raise ValueError(f"num_outputs: expected 1 for regression, got {num_outputs}")
        self.num_outputs = num_outputs
        self.dropout = dropout
        self.pooling = pooling
        self.regression = regression
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(num_outputs)

    def build(self, encoded_shape, inputs_shape=None):
        texts = encoded_shape if isinstance(encoded_shape, list) else [encoded_shape]
        shape = texts[0]["pooled"] if self.pooling == "pooled" else texts[0]["layers"][-1]
        self.dense.build((None, shape[-1] * (1 if len(texts) == 1 else 4)))

    def call(self, encoded, inputs=None, training=None):
        vectors = [self._vector(text) for text in encoded]
        features = vectors[0] if len(vectors) == 1 else pair_features(*vectors)
        logits = self.dense(self.dropout_layer(features, training=training))
        return logits[:, 0] if self.regression else logits

    def _vector(self, text: dict):
        if self.pooling == "pooled":
            return text["pooled"]
        return max_over_words(text["layers"][-1], text["mask"])

    def get_config(self) -> dict:
        return super().get_config() | {
            "num_outputs": self.num_outputs,
            "dropout": self.dropout,
            "pooling": self.pooling,
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


def max_over_words(states, mask):
    """Largest value of each unit over the real words; 0 for a row without any.

    Shapes: states `[batch, time, width]`, mask `[batch, time] bool` → `[batch, width]`.
    """
    real = ops.where(mask[..., None], states, ops.full_like(states, float("-inf")))
    # With `initial`, also a batch without a single position has a largest value.
    largest = ops.max(real, axis=1, initial=float("-inf"))
    return ops.where(ops.any(mask, axis=1)[:, None], largest, ops.zeros_like(largest))


def pair_features(u, v):
    """`[u; v; |u − v|; u ⊙ v]`: `[batch, width]` twice → `[batch, 4 * width]`."""
    return ops.concatenate([u, v, ops.abs(u - v), u * v], axis=-1)
