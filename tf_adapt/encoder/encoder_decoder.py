"""A pretrained encoder with a pretrained decoder beside it, whose groups can be frozen."""

import keras

from hub_modules.families import FAMILIES
from hub_modules.native.added.adapters import extended
from hub_modules.native.added.settings import Added
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.encoder.layer_groups import LayerGroups
from tf_adapt.errors import ConfigError

# Before the name of a decoder's group.
DECODER = "decoder_"


def check_generates(encoder: HubEncoder, what: str) -> None:
    """Checks that an encoder can continue a text.

    Raises:
        ConfigError: it is no native causal transformer, reads in windows, or has a classification
            token.
    """
    family = encoder.family
    if not FAMILIES[family].generates or encoder.execution != "native" or encoder.long is not None:
        raise ConfigError(
            f"{what}: expected a native causal transformer, which reads from left to right, got "
            f"{encoder.handle} (family {family}, execution {encoder.execution}"
            f"{', long' if encoder.long is not None else ''}); take lm_small or a GPT-2"
        )
    if encoder.classification_token:
        raise ConfigError(
            f"{what}: expected an encoder without a classification token, which is no token of "
            "a text; take HubEncoder(…, classification_token=False)"
        )


@keras.saving.register_keras_serializable("tf_adapt")
class EncoderDecoder(HubEncoder):
    """A `HubEncoder`, and beside it a causal one that is to decode: their groups are one list.

    A call is one of the encoder. What an adaptation adds is added to both.

    Args:
        decoder: a `HubEncoder` of a native causal transformer.

    Raises:
        ConfigError: the decoder cannot continue a text; as `HubEncoder`.
    """

    decoder: HubEncoder | None = None  # while `HubEncoder` makes the encoder

    def __init__(self, handle, decoder: HubEncoder, **kwargs):
        check_generates(decoder, "decoder")
        super().__init__(handle, **kwargs)
        with extended(self):
            self.decoder = decoder

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """(name, variables) of each group: the encoder's, bottom to top, then the decoder's, called
        `decoder_…`; what an adaptation adds is one group of both, at the end."""
        groups = super().layer_groups
        if self.decoder is None:
            return groups
        shared = {} if self.added is None else {self.added.group: []}
        layers = []
        for prefix, of_one in (("", groups), (DECODER, self.decoder.layer_groups)):
            for name, weights in of_one:
                if name in shared:
                    shared[name] = shared[name] + weights
                else:
                    layers.append((prefix + name, weights))
        return LayerGroups([*layers, *shared.items()])

    def add(self, added: Added) -> None:
        """See `HubEncoder`; both parts get it."""
        self.decoder.add(added)
        super().add(added)

    def get_config(self) -> dict:
        return super().get_config() | {"decoder": self.decoder.get_config()}

    @classmethod
    def from_config(cls, config: dict) -> "EncoderDecoder":
        """The two of `get_config`, with the same groups frozen."""
        return super().from_config(config | {"decoder": HubEncoder.from_config(config["decoder"])})
