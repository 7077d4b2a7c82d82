"""Auxiliary heads for slices of the data, trained on their members only, beside the main head."""

from collections.abc import Sequence

import keras

from hub_modules.native.arguments import ArgumentsInConfig
from tf_adapt.data.packing.prepared import SLICE_TARGETS
from tf_adapt.tasks.losses import CrossEntropy


@keras.saving.register_keras_serializable("tf_adapt")
class SliceHeads(ArgumentsInConfig, keras.layers.Layer):
    """A head for each slice, like the main one, with a loss on the slice's members alone.

    The loss is the sum over slices of the mean cross-entropy of the slice's members in the global
    batch, 0 without members. The heads share the encoder with the main head, which alone predicts.

    Shapes: the first text's inputs have `SLICE_TARGETS` `[batch, slices] int`, −1 for examples that
    are not in the slice → scalar: this replica's share.

    Args:
        slices: names of the slices.
    """

    def __init__(self, slices: Sequence[str], **kwargs):
        super().__init__(**kwargs)
        self.supports_jit = False
        self.slices = list(slices)
        self.heads: list[keras.layers.Layer] = []

    def make_heads(self, head: keras.layers.Layer, encoded: list, inputs: dict) -> None:
        """Makes new heads like a built one.

        Args:
            encoded, inputs: what a head is called with.
        """
        for name in self.slices:
            config = head.get_config() | {"name": f"{head.name}_of_slice_{name}"}
            self.heads.append(type(head).from_config(config))
        for slice_head in self.heads:
            slice_head(encoded, inputs)
        self.built = True

    def call(self, inputs, encoder=None, encoded=None, step=0, training=None):
        targets, loss = inputs["a"][SLICE_TARGETS], 0.0
        for number, head in enumerate(self.heads):
            loss += CrossEntropy()(
                targets[:, number], head(encoded, inputs["a"], training=training)
            )
        return loss
