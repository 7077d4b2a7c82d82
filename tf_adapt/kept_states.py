"""The states at the highest frozen layer of an encoder, kept while what is below stays frozen."""

import io
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import tensorflow as tf

from hub_modules.half_kernels import given_kernels, half_kernels
from tf_adapt.data.prepared import PreparedData
from tf_adapt.encoder import HubEncoder
from tf_adapt.feature_arrays import (
    Features,
    columns,
    compute_features,
    layer_megabytes,
    states_dtype,
)

# Words at the ends of a text that layers read and pass on: see `ElmoEncoder.lower_layers`.
ENDS = {"bert": 0, "elmo": 2}
_log = logging.getLogger(__name__)


class KeptStates:
    """Keeps, for each split of the data, states that epochs start from instead of the texts.

    In inference mode a frozen layer says the same in every epoch. They are computed in one pass
    over the texts, for as many layers as the limit allows, and forgotten when a layer below learns.

    Args:
        encoder: a native one.
        limit_mb: megabytes of states of one split and text column.
        track: the batches of a pass, watched.
    """

    def __init__(
        self,
        encoder: HubEncoder,
        limit_mb: int,
        track: Callable[[tf.data.Dataset], Iterable] = iter,
    ):
        self.encoder = encoder
        self.limit_mb = limit_mb
        self.track = track
        self._kept: dict[str, dict[str, PreparedData]] = {}
        self._forwards: dict[int, Callable] = {}
        self._computed_in = 0
        self._warned = False

    def data(
        self, split: str, prepared: PreparedData, layers_for: Callable[..., list[str]], epoch: int
    ) -> PreparedData:
        """The data of a split for an epoch, with the states of a layer where they are kept.

        Args:
            layers_for: `tf_adapt.boundaries.layers_to_keep` of this epoch, given the `room`.
        """
        needed = layer_megabytes(prepared, self.encoder, ENDS[self.encoder.family])
        layers = layers_for(room=int(self.limit_mb // needed))
        if not layers and layers_for(room=self.encoder.num_layers):
            self._warn(prepared, needed)
        below = self.encoder.layer_names
        below = below[: below.index(layers[0]) + 1] if layers else []
        # Above the boundary, states are no longer those of the weights.
        kept = {name: data for name, data in self._kept.get(split, {}).items() if name in below}
        if layers and layers[0] not in kept:
            kept = self._computed(prepared, layers, epoch)
        self._kept[split] = kept
        return kept[layers[0]] if layers else prepared

    def weights_restored(self, epoch: int) -> None:
        """The weights are again those after an epoch; states of later ones are not theirs."""
        if epoch < self._computed_in:
            self._kept.clear()

    def _computed(
        self, prepared: PreparedData, layers: list[str], epoch: int
    ) -> dict[str, PreparedData]:
        self._computed_in = epoch
        features = [self._features(prepared, number, layers) for number in range(columns(prepared))]
        return {
            name: replace(prepared, features=[column[name] for column in features])
            for name in layers
        }

    def _features(
        self, prepared: PreparedData, number: int, layers: list[str]
    ) -> dict[str, Features]:
        numbers = [self.encoder.layer_names.index(name) for name in layers]
        files = [io.BytesIO() for _ in layers]
        places = compute_features(
            prepared,
            number,
            self._forward(max(numbers)),
            half_kernels(self.encoder),
            lambda states: [states[number] for number in numbers],
            files,
            self.track,
        )
        dtype, width = states_dtype(self.encoder), self.encoder.output_width
        return {
            name: Features(
                np.frombuffer(file.getbuffer(), dtype).reshape(-1, width), **places, layer=name
            )
            for name, file in zip(layers, files, strict=True)
        }

    def _forward(self, top: int) -> Callable:
        """The layers up to number `top` as a graph, traced once for all splits and texts."""
        if top not in self._forwards:

            def call(inputs, kernels):
                with given_kernels(self.encoder, kernels):
                    return self.encoder.encoder.lower_layers(inputs, top=top)

            self._forwards[top] = tf.function(call, autograph=False, reduce_retracing=True)
        return self._forwards[top]

    def _warn(self, prepared: PreparedData, needed: float) -> None:
        if not self._warned:
            _log.warning(
                "states of %d texts need %.0f MB for each frozen layer that epochs start from, too "
                "much to pay with features.limit_mb: %d; the encoder reads the texts instead",
                len(prepared.lengths),
                needed,
                self.limit_mb,
            )
        self._warned = True
