"""The topmost layers of an encoder with new random weights in place of the pretrained ones."""

import keras

from hub_modules.families import FAMILIES
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError

STANDARD_DEVIATION = 0.02
POOLER = "pooler"


def reinitialise(encoder: HubEncoder, layers: int) -> None:
    """Draws the weights of the topmost transformer layers, and of a pooler, anew.

    Kernels are from a normal distribution with deviation 0.02, cut at twice that; biases and β are
    zero, γ is one.

    Raises:
        ConfigError: the encoder is no native transformer, has fewer layers, or layers that share
            their weights.

    Source: Zhang et al. 2021, "Revisiting Few-sample BERT Fine-tuning", section 5.
    """
    groups = dict(encoder.layer_groups)
    numbered = [name for name in groups if name.startswith("layer_")]
    if not FAMILIES[encoder.family].is_transformer or encoder.execution != "native":
        raise ConfigError(
            "reinitialise (adaptation.reinitialise in a config): expected a transformer that runs "
            f"natively, got the family {encoder.family}, execution {encoder.execution}; leave it "
            "out"
        )
    if encoder.num_layers - 1 > len(numbered):
        raise ConfigError(
            "reinitialise (adaptation.reinitialise in a config): expected a module whose layers "
            f"have weights of their own, got {encoder.handle}, whose {encoder.num_layers - 1} "
            f"layers share those of {len(numbered)}; leave it out"
        )
    if layers > len(numbered):
        raise ConfigError(
            f"reinitialise (adaptation.reinitialise in a config): expected at most {len(numbered)} "
            f"layers, those of module {encoder.handle}, got {layers}"
        )
    drawn = [*numbered[len(numbered) - layers :], *([POOLER] if POOLER in groups else [])]
    weights = {id(weight) for name in drawn for weight in groups[name]}
    for name, weight in encoder.native.weights_by_name().items():
        if id(weight) in weights:
            weight.assign(_initializer(name.split("/")[-1])(weight.shape, weight.dtype))
    encoder.as_stored = False


def refuse_new_layers(layers: int, kind: str) -> None:
    """Refuses new random weights below an output layer that was pretrained on the old ones.

    Args:
        layers: how many of the topmost layers are to be drawn anew.
        kind: of task, for the message.

    Raises:
        ConfigError: there are any.
    """
    if layers:
        raise ConfigError(
            f"reinitialise (adaptation.reinitialise in a config): expected none for {kind}, whose "
            f"pretrained output layer reads these layers, got {layers}; leave it out"
        )


def _initializer(part: str) -> keras.initializers.Initializer:
    if part == "kernel":
        return keras.initializers.TruncatedNormal(stddev=STANDARD_DEVIATION)
    return keras.initializers.Ones() if part == "gamma" else keras.initializers.Zeros()
