"""What heads have in common."""

import keras

from hub_modules.native.arguments import ArgumentsInConfig
from tf_adapt.errors import ConfigError
from tf_adapt.layers.head_inputs import POOLED, HeadInputs, state_inputs
from tf_adapt.layers.pooling import check_pooling
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.layers.standardisation import Standardisation


class HeadLayer(ArgumentsInConfig, keras.layers.Layer):
    """A head whose config is its arguments, each of which is an attribute of the same name."""

    regression = False
    pooling = None
    scaled = False

    def reads(self, num_outputs: int, mixed: bool, regression=False, pooling=None) -> None:
        """Keeps these arguments, and makes the mix of layers that `mixed` asks for.

        Raises:
            ValueError: an unknown pooling, or several outputs for regression.
        """
        if regression and num_outputs != 1:
            raise ValueError(f"num_outputs: expected 1 for regression, got {num_outputs}")
        if pooling is not None:
            check_pooling(pooling)
        self.num_outputs = num_outputs
        self.mixed = mixed
        self.regression = regression
        self.pooling = pooling
        self.mix = ScalarMix(name="mix", dtype=self.dtype_policy) if mixed else None

    def built_mix(self, encoded_shape: dict | list) -> dict:
        """Builds the mix of layers; the shapes of the encoder's outputs for the first text."""
        text = encoded_shape[0] if isinstance(encoded_shape, list) else encoded_shape
        if self.mix:
            self.mix.build(text["layers"])
        return text

    @property
    def output_shape(self) -> tuple:
        """Shape of the logits, for `model.summary()`."""
        return (None,) if self.regression else (None, self.num_outputs)

    @property
    def head_inputs(self) -> HeadInputs:
        """What has to be kept of a frozen encoder for this head."""
        return state_inputs(self.mixed)


class VectorReader(HeadLayer):
    """A head that reads one vector a text: the encoder's own, or with `pooling` one of its states.

    With `mixed` these are of a `ScalarMix` of all layers, with `scaled` standardised.
    """

    def reads(self, num_outputs, mixed, regression=False, pooling=None, scaled=False) -> None:
        """See `HeadLayer`; makes the standardisation too."""
        super().reads(num_outputs, mixed, regression, pooling)
        self.mix = self.mix if pooling else None
        self.scaled = scaled
        self.scaling = None
        if pooling and scaled:
            self.scaling = Standardisation(name="scaling", dtype=self.dtype_policy)

    def built_width(self, encoded_shape: dict | list) -> int:
        """Builds mix and standardisation; the width of a vector."""
        text = self.built_mix(encoded_shape)
        width = (text["layers"][-1] if self.pooling else text["pooled"])[-1]
        if self.scaling:
            self.scaling.build((None, len(text["layers"]) if self.mixed else 1, width))
        return width

    @property
    def head_inputs(self) -> HeadInputs:
        """What has to be kept of a frozen encoder for this head."""
        return state_inputs(self.mixed, self.pooling, self.scaled) if self.pooling else POOLED


def check_registered(head: keras.layers.Layer) -> None:
    """Checks that a saved head can be found again: its class is Keras' or registered.

    Raises:
        ConfigError: it is not.
    """
    for layer in head._flatten_layers():
        found, name = type(layer), keras.saving.get_registered_name(type(layer))
        of_keras = found.__module__.partition(".")[0] == "keras"
        if not of_keras and keras.saving.get_registered_object(name) is not found:
            raise ConfigError(
                f"head: expected layers that can be loaded again, got {found.__name__}, which is "
                f"not registered; write @keras.saving.register_keras_serializable() above its "
                "class, or save model.save_weights(…) alone"
            )
