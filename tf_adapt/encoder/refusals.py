"""What a `HubEncoder` refuses: its checks of arguments that go together, and their messages."""

import keras

from hub_modules.families import FAMILIES, joins_pairs
from hub_modules.load import LoadedModule
from hub_modules.native.added.adapters import TaskAttention
from hub_modules.native.added.lora import Lora
from tf_adapt.encoder.long_texts import LongTexts
from tf_adapt.errors import ConfigError


def nothing_learns(handle: str, family: str, execution: str | None) -> str:
    """The message for an encoder without weights that is to be trained.

    Args:
        execution: as the user said it.
    """
    frozen = "(trainable=False, adaptation: feature_extraction)"
    if family == "sentence":
        return (
            f"module {handle}: this sentence module can only be used frozen {frozen}: it has no "
            "trainable variables, or no gradient flows through its program; to tune, take one that "
            "is published as fine-tunable"
        )
    return (
        f"module {handle}: TensorFlow 2 can use a TF1-format module only frozen {frozen}; "
        f"{_HOW_TO_TUNE[execution]}"
    )


# By the argument `execution`; a recognised ELMo gets here only with "saved_model".
_HOW_TO_TUNE = {
    "saved_model": "to tune an ELMo, leave out execution (execution: null): its weights are then "
    "read into the native encoder; where that says that the variables are not recognised, convert "
    "its original weights: `tf-adapt module convert --from bilm-tf SOURCE --out DIR`",
    None: "its variables are not those of a published ELMo, whose weights would be read into the "
    "native encoder; convert the original weights: `tf-adapt module convert --from bilm-tf SOURCE "
    "--out DIR`",
}


def check_alone(adapters, lora: Lora | None, bitfit: bool) -> None:
    """Checks that at most one of these is given.

    Raises:
        ConfigError: several are.
    """
    given = {"adapters": adapters, "lora": lora, "bitfit": bitfit or None}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ConfigError(
            f"{names[-1]}: expected one of adapters, lora and bitfit, got {' and '.join(names)}; "
            "leave one out"
        )


def joint_pairs(pairs: str | None, family: str) -> bool:
    """Whether an encoder with this argument `pairs` reads both texts of a pair as one row.

    Raises:
        ConfigError: the argument is unknown, or not possible for the family.
    """
    if pairs not in (None, "joint", "separate"):
        raise ConfigError(f"pairs: expected joint, separate or none, got {pairs!r}")
    if pairs == "joint" and not joins_pairs(family):
        raise ConfigError(
            f"pairs: expected separate or none for the family {family}, which reads one text at a "
            "time, got 'joint'"
        )
    return joins_pairs(family) and pairs != "separate"


def check_long(long: LongTexts | None, module: LoadedModule, pairs: str | None) -> None:
    """Checks that a module's texts can be read in windows.

    Raises:
        ConfigError: it is no transformer, has less positions than a window, or is to read both
            texts of a pair as one row.
    """
    if long is None:
        return
    if not FAMILIES[module.family].is_transformer:
        raise ConfigError(
            f"long: expected a transformer, which reads a limited number of positions, got the "
            f"family {module.family}; leave it out, and set max_length"
        )
    if module.max_length is not None and long.window > module.max_length:
        raise ConfigError(
            f"long.window: expected at most {module.max_length}, the positions of the module, got "
            f"{long.window}"
        )
    if pairs == "joint":
        raise ConfigError(
            "pairs: expected separate or none together with long, which cuts a row of one text "
            "into windows, got 'joint'"
        )


def check_checkpointing(module: LoadedModule) -> None:
    """Checks that a module's layers can be recomputed.

    Raises:
        ConfigError: they cannot.
    """
    if not hasattr(module.encoder, "gradient_checkpointing"):
        raise ConfigError(
            "gradient_checkpointing: expected a transformer that runs natively, got the family "
            f"{module.family}, execution {module.execution}; leave it out"
        )


def not_converted(encoder: keras.layers.Layer, engine: str) -> str:
    """The message for a `HubEncoder` that another engine cannot compute."""
    reason = f"the family {encoder.family}, execution {encoder.execution}"
    if encoder.family == "elmo":
        reason += ", whose loops over the words are slower there than in TensorFlow"
    if isinstance(encoder.adapters, TaskAttention):
        reason = "one with an attention of its own for each task"
    return (
        f"engine {engine}: module {encoder.handle}: expected a transformer that runs natively, got "
        f"{reason}; choose the engine tensorflow"
    )
