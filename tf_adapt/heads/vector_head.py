"""A layer of the user's as a head: it reads one vector of each text."""

import inspect

import keras

from tf_adapt.errors import ConfigError
from tf_adapt.heads.head_layer import VectorReader
from tf_adapt.heads.kinds import KINDS
from tf_adapt.heads.reading import Reading
from tf_adapt.layers.texts import read_vectors
from tf_adapt.tasks.task import Task


@keras.saving.register_keras_serializable("tf_adapt")
class VectorHead(VectorReader):
    """`layer(v)` on the vector v that the head `linear` reads.

    v is what `LinearHead` reads; of texts that are encoded separately their vectors side by side.

    Shapes: as for `LinearHead`; the layer's output is `[batch, num_outputs]`.

    Args:
        layer: a Keras layer of one input.
        num_outputs: that it must have.
        regression: return one number per example instead of a row.
        pooling, mixed, scaled: as of `LinearHead`.
    """

    def __init__(
        self,
        layer: keras.layers.Layer,
        num_outputs: int,
        regression: bool = False,
        pooling: str | None = None,
        mixed: bool = False,
        scaled: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.layer = layer
        self.reads(num_outputs, mixed, regression, pooling, scaled)

    def build(self, encoded_shape, inputs_shape=None):
        texts = encoded_shape if isinstance(encoded_shape, list) else [encoded_shape]
        width = self.built_width(encoded_shape)
        if not self.layer.built:
            self.layer.build((None, len(texts) * width))

    def call(self, encoded, inputs=None, training=None):
        vectors = read_vectors(encoded, inputs, self.pooling, self.mix, self.scaling, training)
        more = {"training": training} if self.layer._call_has_training_arg else {}
        outputs = self.layer(keras.ops.concatenate(vectors, axis=-1), **more)
        outputs = keras.ops.cast(outputs, "float32")
        if outputs.shape[1:] != (self.num_outputs,):
            raise ConfigError(
                f"head: expected a layer with {self.num_outputs} outputs for each text, one for "
                f"each label (one alone for scores), got the shape {tuple(outputs.shape)}"
            )
        return outputs[:, 0] if self.regression else outputs

    def get_config(self) -> dict:
        return super().get_config() | {"layer": keras.saving.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config: dict) -> "VectorHead":
        return cls(**config | {"layer": keras.saving.deserialize_keras_object(config["layer"])})


def as_head(layer: keras.layers.Layer, task: Task, reads: Reading) -> keras.layers.Layer:
    """A layer whose `call` has one input as a head; others, which read `encoded`, as they are.

    Args:
        reads: what `linear` would read.

    Raises:
        ConfigError: such a layer for words, or for the spans of a text.
    """
    if not _has_one_input(layer):
        return layer
    row = KINDS[task.kind]
    if "linear" not in row.heads:
        raise ConfigError(
            f"head: expected a layer with call(encoded, inputs, training) for {task.kind}, which "
            f"has outputs for each word, got {type(layer).__name__}; see the docstring of "
            "build_model"
        )
    regression = bool(row.arguments.get("regression"))
    given = (reads.pooling, reads.mixed, reads.scaled)
    return VectorHead(layer, task.num_outputs, regression, *given, name="head")


def _has_one_input(layer: keras.layers.Layer) -> bool:
    parameters = inspect.signature(layer.call).parameters.values()
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = [one.name for one in parameters if one.kind not in variable]
    return len([name for name in names if name not in ("training", "mask")]) == 1
