"""Seeds and deterministic operations of a run."""

import keras
import tensorflow as tf

from hub_modules.load import runs_natively
from tf_adapt.config.sections import Config


def set_seed(config: Config) -> None:
    """Sets the seed of Keras, and makes operations deterministic where they can be.

    From Keras' seed each initializer, and the generator of each dropout, takes its own as it is
    made; the generators are saved with the weights.
    """
    keras.utils.set_random_seed(config.training.seed)
    if _may_be_deterministic(config):
        tf.config.experimental.enable_op_determinism()


def _may_be_deterministic(config: Config) -> bool:
    # Deterministic operations refuse the unseeded dropout of a program that is tuned, and Keras
    # does not use XLA with them.
    encoder = config.encoder
    if config.training.jit_compile or encoder.execution == "saved_model":
        return False
    return not config.adaptation.trains_encoder or runs_natively(encoder.handle, encoder.execution)
