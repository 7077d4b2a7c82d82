"""What heads have in common."""

import keras

from hub_modules.native.arguments import ArgumentsInConfig
from tf_adapt.layers.head_inputs import HeadInputs, state_inputs


class HeadLayer(ArgumentsInConfig, keras.layers.Layer):
    """A head whose config is its arguments, each of which is an attribute of the same name."""

    regression = False

    @property
    def output_shape(self) -> tuple:
        """Shape of the logits, for `model.summary()`."""
        return (None,) if self.regression else (None, self.num_outputs)

    @property
    def head_inputs(self) -> HeadInputs:
        """What has to be kept of a frozen encoder for this head."""
        return state_inputs(self.mixed)


def check_regression(regression: bool, num_outputs: int) -> None:
    """Refuses a regression with several outputs.

    Raises:
        ValueError: there are several.
    """
    if regression and num_outputs != 1:
        raise ValueError(f"num_outputs: expected 1 for regression, got {num_outputs}")


def first_text(encoded_shape: dict | list) -> dict:
    """The shapes of the encoder's outputs for a text, or for the first of two."""
    return encoded_shape[0] if isinstance(encoded_shape, list) else encoded_shape
