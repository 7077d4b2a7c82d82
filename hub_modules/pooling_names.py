"""The names of the poolings, in a file that loads no TensorFlow: see `tf_adapt.layers.pooling`."""

from hub_modules.errors import ConfigError
from hub_modules.families import FAMILIES

POOLING_NAMES = ("first", "last", "mean", "max")


def refuse_first_state(key: str, family: str) -> None:
    """Refuses the first state of encoders that have seen no word there.

    Args:
        key: that asks for it, for the message.

    Raises:
        ConfigError: the encoder is one of these, an AWD-LSTM.
    """
    if first := FAMILIES[family].first_state:
        raise ConfigError(
            f"{key}: expected last, mean or max for the family {family}, whose first state is "
            f"that of {first} and the same for every text, got first"
        )
