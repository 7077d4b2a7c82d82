"""The head that says which reply is the right one."""

import keras

from tf_adapt.heads.head_layer import HeadLayer
from tf_adapt.heads.linear import output_layer


@keras.saving.register_keras_serializable("tf_adapt")
class ReplyChooser(HeadLayer):
    """`w · dropout(h) + b` of the top state h at the end of each candidate.

    Shapes: states `[…, width]` → `[…] float32`.

    Source: Wolf et al. 2019, "TransferTransfo", the next-utterance classification.
    """

    def __init__(self, dropout: float = 0.1, **kwargs):
        super().__init__(**kwargs)
        self.dropout = dropout
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.dense = output_layer(1)

    def build(self, states_shape):
        self.dense.build((None, states_shape[-1]))

    @property
    def output_shape(self) -> tuple:
        """Shape of the scores, for `model.summary()`."""
        return (None,)

    def call(self, states, training=None):
        return self.dense(self.dropout_layer(states, training=training))[..., 0]
