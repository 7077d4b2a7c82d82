"""Caches the hidden states of an encoder's highest frozen layer from epoch to epoch."""

import functools
import logging
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import keras
import tensorflow as tf

from hub_modules.native.inference_graph import InferenceGraph
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.encoder.feature_budget import Budget, Home
from tf_adapt.encoder.feature_cache import build_features, digest_of
from tf_adapt.encoder.feature_parts import FeaturePart, columns, kept_dtype, layer_part, megabytes
from tf_adapt.encoder.hub_encoder import HubEncoder

_log = logging.getLogger(__name__)


class KeptStates:
    """Caches hidden states per split, so that an epoch computes only the layers above them.

    A frozen layer runs in inference mode: its outputs are the same in every epoch. One pass over
    the texts computes the states of as many layers as there is room for; a layer's states are
    dropped when it or a layer below becomes trainable.

    Args:
        encoder: a native encoder.
        limit_mb: most megabytes of states per split and text column in memory.
        track: wraps the batches of a pass, e.g. in a progress bar.
        disk_limit_mb: the same on disk.
        dtype: of the cached states; those computed in half precision are cached as they are.
        folder: for what is too large for memory; None: nothing is written. An interrupted pass goes
            on after its last shard.
    """

    def __init__(
        self,
        encoder: HubEncoder,
        limit_mb: float,
        track: Callable[[tf.data.Dataset], Iterable] = iter,
        disk_limit_mb: float = 0,
        dtype: str = "float32",
        folder: Path | None = None,
    ):
        self.encoder = encoder
        self.budget = Budget(limit_mb, disk_limit_mb, has_folder=folder is not None)
        self.track = track
        self.dtype = kept_dtype(encoder, dtype)
        self.folder = folder
        self._kept: dict[str, dict[str, PreparedData]] = {}
        self._forwards: dict[int, InferenceGraph] = {}
        self._computed_in = 0
        self._warned = False

    def data(
        self, split: str, prepared: PreparedData, layers_for: Callable[..., list[str]], epoch: int
    ) -> PreparedData:
        """The data of a split for an epoch, with cached states of one layer if there are any.

        Args:
            layers_for: `tf_adapt.adaptation.frozen_layers.layers_to_keep` of this epoch as a
                function of `room`.
        """
        needed = megabytes(
            prepared, self.encoder, self._parts(self.encoder.layer_names[:1]), self.dtype
        )
        layers = layers_for(room=int(self.budget.most // needed))
        if not layers and layers_for(room=self.encoder.num_layers):
            self._warn(prepared, needed)
        below = self.encoder.layer_names
        below = below[: below.index(layers[0]) + 1] if layers else []
        # Above the highest frozen layer, training changes the weights: cached states are outdated.
        kept = {name: data for name, data in self._kept.get(split, {}).items() if name in below}
        if layers and layers[0] not in kept:
            home = self.budget.home(needed * len(layers), cached=False)
            kept = self._computed(split, prepared, layers, epoch, home)
        self._kept[split] = kept
        return kept[layers[0]] if layers else prepared

    def weights_restored(self, epoch: int) -> None:
        """Drops states that were computed after `epoch`, whose weights have been restored."""
        if epoch < self._computed_in:
            self._kept.clear()

    def _computed(
        self, split: str, prepared: PreparedData, layers: list[str], epoch: int, home: Home
    ) -> dict[str, PreparedData]:
        self._computed_in = epoch
        folder = self._folder(split, home)
        features = [
            self._features(prepared, number, layers, folder) for number in range(columns(prepared))
        ]
        return {
            name: replace(prepared, features=[column[name] for column in features])
            for name in layers
        }

    def _features(
        self, prepared: PreparedData, number: int, layers: list[str], folder: Path | None
    ) -> dict[str, list]:
        top = max(self.encoder.layer_names.index(name) for name in layers)
        features = build_features(
            prepared,
            number,
            self.encoder,
            self._forward(top),
            self._parts(layers),
            self.dtype,
            self.track,
            folder,
            digest_of(self._weights_below(top)) if folder else None,
        )
        return {name: [feature] for name, feature in zip(layers, features, strict=True)}

    def _parts(self, layers: list[str]) -> list[FeaturePart]:
        names, width = self.encoder.layer_names, self.encoder.output_width
        return [layer_part(name, names.index(name), width) for name in layers]

    def _weights_below(self, top: int) -> list[keras.Variable]:
        """The weights that the states of the layer `top` depend on."""
        above = {*self.encoder.layer_names[top + 1 :], "pooler"}
        groups = self.encoder.layer_groups
        return [weight for name, weights in groups if name not in above for weight in weights]

    def _folder(self, split: str, home: Home) -> Path | None:
        """A folder for a pass over a split; what an earlier pass of this process left is removed.

        What is there before the first pass is of the same run, before an interruption.
        """
        if home == "memory":
            return None
        if split in self._kept:
            shutil.rmtree(self.folder / split, ignore_errors=True)
        return self.folder / split

    def _forward(self, top: int) -> InferenceGraph:
        """The layers up to index `top` as a graph, shared by all splits and texts."""
        if top not in self._forwards:
            lower_layers = functools.partial(self.encoder.native.lower_layers, top=top)
            self._forwards[top] = InferenceGraph(self.encoder, lower_layers)
        return self._forwards[top]

    def _warn(self, prepared: PreparedData, needed: float) -> None:
        if not self._warned:
            what = f"states of {len(prepared.lengths)} texts at each frozen layer"
            _log.warning("%s", self.budget.too_large(what, needed))
        self._warned = True
