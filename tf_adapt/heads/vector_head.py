"""A layer of the user's as a head: it reads one vector of each text."""

import inspect

import keras

from tf_adapt.errors import ConfigError
from tf_adapt.heads.kinds import KINDS
from tf_adapt.heads.reading import Reading
from tf_adapt.layers.head_inputs import POOLED, HeadInputs, state_inputs
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.layers.standardisation import Standardisation
from tf_adapt.layers.texts import read_vectors
from tf_adapt.tasks.task import Task


@keras.saving.register_keras_serializable("tf_adapt")
class VectorHead(keras.layers.Layer):
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
        self.num_outputs = num_outputs
        self.regression = regression
        self.pooling = pooling
        self.mixed = mixed
        self.scaled = scaled
        self.mix = ScalarMix(name="mix", dtype=self.dtype_policy) if pooling and mixed else None
        self.scaling = None
        if pooling and scaled:
            self.scaling = Standardisation(name="scaling", dtype=self.dtype_policy)

    def build(self, encoded_shape, inputs_shape=None):
        texts = encoded_shape if isinstance(encoded_shape, list) else [encoded_shape]
        if self.mix:
            self.mix.build(texts[0]["layers"])
        widths = [(text["layers"][-1] if self.pooling else text["pooled"])[-1] for text in texts]
        if self.scaling:
            layers = len(texts[0]["layers"]) if self.mixed else 1
            self.scaling.build((None, layers, widths[0]))
        if not self.layer.built:
            self.layer.build((None, sum(widths)))

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

    @property
    def head_inputs(self) -> HeadInputs:
        """What has to be kept of a frozen encoder for this head."""
        return state_inputs(self.mixed, self.pooling, self.scaled) if self.pooling else POOLED

    def get_config(self) -> dict:
        return super().get_config() | {
            "layer": keras.saving.serialize_keras_object(self.layer),
            "num_outputs": self.num_outputs,
            "regression": self.regression,
            "pooling": self.pooling,
            "mixed": self.mixed,
            "scaled": self.scaled,
        }

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
