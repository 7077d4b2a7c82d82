"""A sentence module's own SavedModel as a Keras layer: text → one vector.

Such are the Universal Sentence Encoder, NNLM and Swivel of TF Hub: a callable that takes strings.
What happens inside (splitting, look-ups, layers) is the module's own.
"""

import keras
import tensorflow as tf

from hub_modules.errors import ArtifactError
from hub_modules.native.weights import as_keras_variable, is_trainable

GROUP = "module"
_EXAMPLE = "a"
_EXPECTED = (
    "module: expected a vector for each text, `[batch] string` → `[batch, width] float32` (a "
    "sentence module, or a dict with one such output or `default`), got "
)


class SentenceEncoder(keras.layers.Layer):
    """Runs a restored sentence module; its variables, wrapped, are this layer's weights.

    Shapes: `text` `[batch] string` → `{"layers": [[batch, 1, width]], "mask": [batch, 1] bool,
    "pooled": [batch, width]}`, float32: the vector is the only state and the pooled output.

    Masking: the mask is True everywhere.

    Freezing: as a whole. A module without trainable variables, or through whose program no gradient
    flows, has no weights and can only be frozen.

    Args:
        module: the result of `tf.saved_model.load`. This layer keeps a reference to it.

    Raises:
        ArtifactError: the module returns something else than vectors.

    Source: Cer et al. 2018 (Universal Sentence Encoder); TF Hub's common interface for text.
    """

    family = "sentence"

    def __init__(self, module, **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False
        self.module = module
        self.takes_training = _takes_training(module)
        self._width = None  # until the first vector is seen
        variables = [
            variable
            for variable in getattr(module, "trainable_variables", ())
            if variable.dtype.is_floating
        ]
        learning = variables if self._has_gradient(variables) else []
        self.module_weights = [as_keras_variable(variable) for variable in learning]
        self.built = True

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The one layer group; none where nothing can learn."""
        return [(GROUP, self.module_weights)] if self.module_weights else []

    def call(self, inputs, training=None):
        learns = is_trainable(self)
        vector = self._vector(inputs["text"], bool(training) and learns)
        if not learns:
            vector = tf.stop_gradient(vector)
        mask = tf.fill([tf.shape(vector)[0], 1], True)
        return {"layers": [vector[:, None]], "mask": mask, "pooled": vector}

    @property
    def num_states(self) -> int:
        """1: the vector."""
        return 1

    @property
    def states_width(self) -> int:
        """Width of the vector."""
        return self._width

    def example_layers(self) -> list:
        """The state of one text, `[1, 1, width]`: it shows the width."""
        return self({"text": tf.constant([_EXAMPLE])})["layers"]

    def _vector(self, texts, training: bool):
        options = {"training": training} if self.takes_training else {}
        vectors = vector_of(self.module(texts, **options))
        if vectors is None or vectors.shape.rank not in (None, 2):
            raise ArtifactError(_EXPECTED + _described(self.module(texts, **options)))
        # A program may leave its shape open.
        return tf.ensure_shape(tf.cast(vectors, tf.float32), [None, self._width])

    def _has_gradient(self, variables: list[tf.Variable]) -> bool:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            vector = self._vector(tf.constant([_EXAMPLE]), training=self.takes_training)
        if vector.shape.rank != 2 or vector.shape[0] != 1:
            raise ArtifactError(_EXPECTED + f"the shape {vector.shape} for one text")
        self._width = int(vector.shape[1])
        try:
            gradients = tape.gradient(vector, variables)
        except LookupError:  # an operation of the program has no gradient
            return False
        return any(gradient is not None for gradient in gradients)


def vector_of(outputs):
    """The vectors among a module's outputs, or the specs of its outputs: the only one, or
    `default`; None where there is none of a floating type and rank 2 (or unknown)."""
    if isinstance(outputs, dict):
        fitting = [name for name in outputs if _is_vector(outputs[name])]
        name = "default" if "default" in fitting else fitting[0] if len(fitting) == 1 else None
        return None if name is None else outputs[name]
    return outputs if _is_vector(outputs) else None


def is_sentence_module(module) -> bool:
    """Whether a restored SavedModel has a function `[batch] string` → `[batch, width]`."""
    for function in getattr(module.__call__, "concrete_functions", ()):
        texts = function.structured_input_signature[0][:1]
        takes_texts = (
            len(texts) == 1
            and isinstance(texts[0], tf.TensorSpec)
            and texts[0].dtype == tf.string
            and texts[0].shape.rank in (None, 1)
        )
        if takes_texts and vector_of(function.structured_outputs) is not None:
            return True
    return False


def _is_vector(output) -> bool:
    known = isinstance(output, (tf.Tensor, tf.TensorSpec))
    return known and output.dtype.is_floating and output.shape.rank in (None, 2)


def _takes_training(module) -> bool:
    """Whether the module has both modes; one with a single mode takes no such argument."""
    try:
        for training in (False, True):
            module(tf.constant([_EXAMPLE]), training=training)
    except (TypeError, ValueError):  # no such argument, or no function traced for it
        return False
    return True


def _described(outputs) -> str:
    if isinstance(outputs, dict):
        return f"a dict with {sorted(map(str, outputs))[:6]}"
    shape = getattr(outputs, "shape", None)
    dtype = getattr(getattr(outputs, "dtype", None), "name", type(outputs).__name__)
    return f"{dtype} {shape}"
