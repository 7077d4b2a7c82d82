"""Encoders with what an adaptation adds, without a model around them."""

from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.encoder.hub_encoder import HubEncoder


def adapted(adaptation: Adaptation, handle, **options) -> HubEncoder:
    """A `HubEncoder` that was given the weights of an adaptation, as by `build_model`."""
    encoder = HubEncoder(handle, **options)
    encoder.add(adaptation.added)
    return encoder
