"""Cross-view training: predictions for a word from a part of what the encoder has read."""

import keras
import tensorflow as tf

from hub_modules.native.arguments import ArgumentsInConfig

SIZE = 128


@keras.saving.register_keras_serializable("tf_adapt")
class RestrictedViews(ArgumentsInConfig, keras.layers.Layer):
    """Logits of each word from four restricted views of a sentence.

    With f and b the states of the two directions, `W₂ · relu(W₁ · v)` of each view v: *forward* fₜ,
    *backward* bₜ, *future* fₜ₋₁ and *past* bₜ₊₁, which have not seen the word; 0 beyond the ends.
    Each view has weights of its own.

    Shapes: `[batch, words, width]`, f and b side by side → four of `[batch, words, outputs]
    float32`.

    Masking: the states at padding are 0.

    Args:
        outputs: the number of logits.
        width: of the states, both directions.
        size: of W₁.

    Source: Clark et al. 2018, "Semi-Supervised Sequence Modeling with Cross-View Training",
    section 3.2.
    """

    def __init__(self, outputs: int, width: int, size: int = SIZE, **kwargs):
        super().__init__(**kwargs)
        self.outputs = outputs
        self.width = width
        self.size = size
        self.hidden = [keras.layers.Dense(size, "relu") for _ in range(4)]
        self.output_layers = [keras.layers.Dense(outputs, dtype="float32") for _ in range(4)]
        for hidden, output in zip(self.hidden, self.output_layers, strict=True):
            hidden.build((None, None, width // 2))
            output.build((None, None, size))
        self.built = True

    def call(self, states):
        forward, backward = tf.split(states, 2, axis=-1)
        future = tf.pad(forward[:, :-1], [[0, 0], [1, 0], [0, 0]])
        past = tf.pad(backward[:, 1:], [[0, 0], [0, 1], [0, 0]])
        views = zip((forward, backward, future, past), self.hidden, self.output_layers, strict=True)
        return [output(hidden(view)) for view, hidden, output in views]
