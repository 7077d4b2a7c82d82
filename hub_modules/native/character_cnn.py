"""ELMo's context-free word representation: character convolutions, highway layers, projection."""

import keras
import tensorflow as tf

from hub_modules.native.arguments import ArgumentsInConfig

ACTIVATIONS = {"relu": tf.nn.relu, "tanh": tf.nn.tanh}
CHARACTER_ROWS = 261


@keras.saving.register_keras_serializable("hub_modules")
class Highway(ArgumentsInConfig, keras.layers.Layer):
    """A highway layer: `g · relu(x W_transform + b) + (1 − g) · x` with `g = σ(x W_gate + b)`.

    Shapes: `[words, width]` → `[words, width]`. bilm-tf stores the gate under the name "carry".

    Source: Srivastava et al. 2015.
    """

    def build(self, input_shape):
        width = input_shape[-1]
        self.gate_kernel = self.add_weight(name="gate_kernel", shape=(width, width))
        # Initially close to the identity, as in bilm-tf.
        self.gate_bias = self.add_weight(
            name="gate_bias", shape=(width,), initializer=keras.initializers.Constant(-2.0)
        )
        self.transform_kernel = self.add_weight(name="transform_kernel", shape=(width, width))
        self.transform_bias = self.add_weight(
            name="transform_bias", shape=(width,), initializer="zeros"
        )

    def call(self, states):
        gate = tf.sigmoid(tf.matmul(states, self.gate_kernel) + self.gate_bias)
        transformed = tf.nn.relu(tf.matmul(states, self.transform_kernel) + self.transform_bias)
        return gate * transformed + (1 - gate) * states


@keras.saving.register_keras_serializable("hub_modules")
class CharacterCnn(ArgumentsInConfig, keras.layers.Layer):
    """Words as sequences of 50 character ids → one vector a word.

    For each `[width, number]` of `filters`: convolution over all positions (pad characters
    included), bias, maximum over positions, activation; then highway layers, then a linear
    projection where the number of filters differs from `projection_width`.

    Shapes: character ids `[words, 50] int32` → `[words, projection_width]`. Id 0 is a fixed zero
    vector; ids 1 to 261 are the rows of the embedding.

    Source: Peters et al. 2018; Kim et al. 2016.
    """

    def __init__(
        self,
        filters: list[list[int]],
        character_width: int,
        num_highway: int,
        projection_width: int,
        activation: str = "relu",
        **kwargs,
    ):
        super().__init__(**kwargs)
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation: expected one of {sorted(ACTIVATIONS)}, got {activation!r}"
            )
        self.filters = [list(pair) for pair in filters]
        self.character_width = character_width
        self.num_highway = num_highway
        self.projection_width = projection_width
        self.activation = activation
        self.num_filters = sum(number for _, number in self.filters)
        policy = self.dtype_policy
        self.convolutions = [
            keras.layers.Conv1D(number, width, name=f"convolution_{index}", dtype=policy)
            for index, (width, number) in enumerate(self.filters)
        ]
        self.highways = [
            Highway(name=f"highway_{index}", dtype=policy) for index in range(num_highway)
        ]
        self.projection = (
            keras.layers.Dense(projection_width, name="projection", dtype=policy)
            if self.num_filters != projection_width
            else None
        )

    def build(self, input_shape=None):
        self.embedding = self.add_weight(
            name="embedding",
            shape=(CHARACTER_ROWS, self.character_width),
            initializer=keras.initializers.RandomUniform(-1.0, 1.0),
            autocast=False,
        )
        for convolution in self.convolutions:
            convolution.build((None, None, self.character_width))
        for highway in self.highways:
            highway.build((None, self.num_filters))
        if self.projection is not None:
            self.projection.build((None, self.num_filters))

    def call(self, character_ids):
        table = tf.cast(self.embedding, self.compute_dtype)
        table = tf.concat([tf.zeros_like(table[:1]), table], axis=0)
        characters = tf.gather(table, self._without_equal_ends(character_ids))
        activation = ACTIVATIONS[self.activation]
        states = tf.concat(
            [activation(tf.reduce_max(conv(characters), axis=1)) for conv in self.convolutions],
            axis=-1,
        )
        for highway in self.highways:
            states = highway(states)
        return states if self.projection is None else self.projection(states)

    def _without_equal_ends(self, character_ids):
        """Cuts `[words, 50]` after the longest word plus one window of the widest filter.

        After that each row repeats one id, and equal windows do not change the maximum.
        """
        differs = tf.reduce_any(character_ids != character_ids[:, -1:], axis=0)
        ends = tf.where(differs, tf.range(1, tf.shape(differs)[0] + 1), 0)
        return character_ids[:, : tf.reduce_max(ends) + max(width for width, _ in self.filters)]
