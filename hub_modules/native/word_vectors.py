"""Word vectors as a Keras layer: one look-up, no layers above it."""

import keras
import tensorflow as tf

from hub_modules.native.added.adapters import check_added
from hub_modules.native.added.settings import Added
from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.given_states import perturbed
from hub_modules.native.weights import load_weights_by_name

GROUP = "embeddings"


@keras.saving.register_keras_serializable("hub_modules")
class WordVectorsEncoder(ArgumentsInConfig, keras.layers.Layer):
    """`E[id]` for each word of a text: an encoder without context.

    Shapes: inputs `word_ids` `[batch, time] int32` (0 is padding, 1 an unknown word, 2 the first
    word of the vocabulary) → `{"layers": [[batch, time, width]], "mask": [batch, time] bool}`, in
    the compute dtype.

    `perturbation` `[batch, time, width]` among the inputs is added to the vectors.

    Masking: states at padding are zero.

    Freezing: no gradient is computed where the vectors are frozen.

    Args:
        num_words: number of words of the vocabulary; the vector of unknown words is one row more.
        width: of a vector.

    Source: Pennington, Socher, Manning 2014, "GloVe: Global Vectors for Word Representation".
    """

    num_states = 1
    boundary_positions = 0
    adapter_layers = ()

    def __init__(self, num_words: int, width: int, **kwargs):
        super().__init__(**kwargs)
        self.num_words = num_words
        self.width = width

    def add(self, added: Added) -> None:
        """Refuses what an adaptation adds: there is no place for it.

        Raises:
            ConfigError: always.
        """
        check_added(added, "words", 0)

    def build(self, input_shape=None):
        # No automatic cast: a few rows are cast after the look-up instead of the whole table.
        self.vectors = self.add_weight(
            name="vectors",
            shape=(self.num_words + 1, self.width),
            initializer=keras.initializers.RandomNormal(stddev=0.1),
            autocast=False,
        )

    @property
    def states_width(self) -> int:
        """Width of the hidden states."""
        return self.width

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The one layer group."""
        return [(GROUP, [self.vectors])]

    def call(self, inputs, training=None):
        ids = tf.cast(inputs["word_ids"], tf.int32)
        mask = ids > 0
        states = tf.gather(self.vectors.value, tf.maximum(ids - 1, 0))
        if not self.vectors.trainable:
            states = tf.stop_gradient(states)
        states, _ = perturbed(inputs, states, not self.vectors.trainable)
        visible = tf.cast(mask, self.compute_dtype)[..., None]
        return {"layers": [tf.cast(states, self.compute_dtype) * visible], "mask": mask}

    def weights_by_name(self) -> dict[str, keras.Variable]:
        """The one weight by its name."""
        return {f"{GROUP}/vectors": self.vectors}

    def load_weights_by_name(self, arrays: dict) -> None:
        """Sets the weight from `{name: array}`.

        Raises:
            ArtifactError: the name or the shape is another.
        """
        load_weights_by_name(self.weights_by_name(), arrays)
