"""The parts of an encoder-decoder that have no pretraining."""

import keras
from keras import ops

from hub_modules.native.added.cross_attention import CrossBlock
from tf_adapt.heads.head_layer import HeadLayer


@keras.saving.register_keras_serializable("tf_adapt")
class CrossAttentions(HeadLayer):
    """A `CrossBlock` for each layer of a decoder.

    Where the encoder has another width than the decoder, its states are projected before, once for
    all layers. With `multi_layer` the scores are of the encoder's top states, and the values of the
    states of its first layer and its top together.

    Shapes: the encoder's outputs → the memory: `mask` `[batch, source] bool`, and `layers`: of each
    layer keys and values `[batch, heads, source, head_width]`.

    Args:
        num_layers, width, num_heads, dropout, attention_dropout, layer_norm_epsilon: the decoder's.
        source_width: of the encoder's states.
        multi_layer: see above.

    Source: Rothe et al. 2020, "Leveraging Pre-trained Checkpoints for Sequence Generation Tasks";
    transformers, `EncoderDecoderModel`. `multi_layer`: Ramachandran et al. 2017, "Unsupervised
    Pretraining for Sequence to Sequence Learning", section 2.3.
    """

    def __init__(
        self,
        num_layers: int,
        width: int,
        num_heads: int,
        dropout: float,
        attention_dropout: float,
        layer_norm_epsilon: float,
        source_width: int,
        multi_layer: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_layers = num_layers
        self.width = width
        self.num_heads = num_heads
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.source_width = source_width
        self.multi_layer = multi_layer
        policy = self.dtype_policy
        self.projection = None
        if source_width != width:
            self.projection = keras.layers.Dense(
                width,
                kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
                name="projection",
                dtype=policy,
            )
        self.blocks = [
            CrossBlock(
                width,
                num_heads,
                dropout,
                attention_dropout,
                layer_norm_epsilon,
                value_width=width * (2 if multi_layer else 1),
                name=f"cross_{index}",
                dtype=policy,
            )
            for index in range(num_layers)
        ]

    def build(self, input_shape=None):
        if self.projection is not None:
            self.projection.build((None, None, self.source_width))
        for block in self.blocks:
            block.build()

    @property
    def output_shape(self) -> tuple:
        """Shape of the keys, for `model.summary()`."""
        return (None, self.num_heads, None, self.width // self.num_heads)

    def call(self, encoded: dict):
        layers = encoded["layers"]
        top = values_of = self._projected(layers[-1])
        if self.multi_layer:
            values_of = ops.concatenate([self._projected(layers[1]), top], axis=-1)
        memory = [block.attention.memory(top, values_of) for block in self.blocks]
        return {"mask": encoded["mask"], "layers": memory}

    def _projected(self, states):
        return states if self.projection is None else self.projection(states)

    def between(self, memory: dict, training=None) -> list:
        """Of each layer of the decoder what is between its two parts: see `CausalBlock`."""

        def of_layer(block, keys_and_values):
            return lambda states: block(states, keys_and_values, memory["mask"], training=training)

        return [of_layer(*pair) for pair in zip(self.blocks, memory["layers"], strict=True)]
