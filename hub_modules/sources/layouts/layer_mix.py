"""An ELMo module's own mix of its layers, as plain data."""

from dataclasses import dataclass

import numpy as np

from hub_modules.errors import ArtifactError


@dataclass(frozen=True)
class LayerMix:
    """`scale · Σₖ softmax(weights)ₖ · layerₖ`.

    Args:
        weights: one a layer, bottom to top, before the softmax.
    """

    weights: tuple[float, ...]
    scale: float


def layer_mix(weights: np.ndarray, scale: np.ndarray, num_layers: int, where: str) -> LayerMix:
    """A mix from stored arrays: `[num_layers]`, and `[]` or `[1]`.

    Args:
        where: the module, for messages.

    Raises:
        ArtifactError: they have other shapes, or hold NaN or infinity.
    """
    if weights.shape != (num_layers,) or scale.shape not in ((), (1,)):
        raise ArtifactError(
            f"{where}: expected a mix of layers with weights [{num_layers}] and a scale [] or [1], "
            f"got {list(weights.shape)} and {list(scale.shape)}; the mix and the layers do not "
            "belong together: get the module again"
        )
    values = [*weights.tolist(), float(scale.reshape(()))]
    if not np.isfinite(values).all():
        raise ArtifactError(
            f"{where}: expected finite numbers in the mix of layers, got NaN or infinity; the "
            "module is damaged: get it again"
        )
    return LayerMix(tuple(values[:-1]), values[-1])
