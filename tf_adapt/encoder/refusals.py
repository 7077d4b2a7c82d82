"""What a `HubEncoder` refuses: its checks of arguments that go together, and their messages."""

from collections.abc import Sequence

import keras

from hub_modules.families import FAMILIES, joins_pairs
from hub_modules.load import LoadedModule
from hub_modules.native.added.settings import Added, Biases, TaskAttention
from hub_modules.sentence_transformers import POOLING, SentenceSettings
from tf_adapt.encoder.layer_groups import is_bias
from tf_adapt.encoder.long_texts import LongTexts
from tf_adapt.errors import ConfigError


def nothing_learns(handle: str, family: str, execution: str | None) -> str:
    """The message for an encoder without weights that is to be trained.

    Args:
        execution: as the user gave it.
    """
    frozen = "(trainable=False, adaptation: feature_extraction)"
    if not FAMILIES[family].has_words:
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


# Arguments of `HubEncoder` before 0.3.
_NEW_WAYS = {
    "adapters": "build_model(…, adaptation=ta.adapters()), or for attention of each of several "
    "tasks build_multi_task_model(…, task_attention=204)",
    "adapter_size": "build_model(…, adaptation=ta.adapters(size=64))",
    "lora": "build_model(…, adaptation=ta.lora(rank=8))",
    "bitfit": "build_model(…, adaptation=ta.bitfit())",
}


def check_new_ways(given: dict) -> None:
    """Refuses arguments that an encoder had before an adaptation brought its own weights.

    Raises:
        ConfigError: there is one.
    """
    for name in _NEW_WAYS.keys() & given:
        raise ConfigError(
            f"{name}: expected no such argument of HubEncoder; an adaptation brings its weights: "
            f"{_NEW_WAYS[name]}"
        )


def check_addition(encoder: keras.layers.Layer, added: Added) -> None:
    """Checks that a `HubEncoder` has a place for what an adaptation adds, as far as this does not
    depend on its layers.

    Raises:
        ConfigError: it has none, or something else was added before.
    """
    if encoder.added is not None:
        raise ConfigError(
            f"adaptation: expected what the encoder has already, {encoder.added}, got {added}; "
            "make a new HubEncoder for another adaptation"
        )
    if isinstance(added, Biases):
        if not any(is_bias(weight) for weight in encoder.weights):
            raise ConfigError(
                f"bitfit: expected an encoder with biases, got module {encoder.handle} (family "
                f"{encoder.family}), which has none; choose feature_extraction or fine_tuning"
            )
    elif encoder.execution != "native":
        raise ConfigError(
            f"module {encoder.handle}: {added.adaptation} needs the native encoder, got "
            "execution: saved_model, or a module not recognised: the module's own program cannot "
            "be changed inside; leave out execution where the module is recognised (`tf-adapt "
            "module inspect`), or take another adaptation"
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


def checked_prompts(
    prompts: str | Sequence[str] | None, long: object, sentence: SentenceSettings
) -> tuple[str, ...]:
    """What is put before the texts of an example: nothing, one for all, or one for each of two; by
    default what the module's folder says.

    Raises:
        ConfigError: it is something else, texts are read in windows, or the states of a prompt do
            not count in the module's vector.
    """
    prompts = sentence.prompts if prompts is None else prompts
    given = list(prompts) if isinstance(prompts, list | tuple) else [prompts]
    if len(given) > 2 or not all(isinstance(one, str) and one for one in given):
        raise ConfigError(
            "prompts: expected a text that is put before each text, or a list of two for the texts "
            f"of a pair, got {prompts!r}"
        )
    if given and long is not None:
        raise ConfigError(
            "prompts: expected none together with long, whose windows begin within a text, got "
            f"{prompts!r}; set them to []"
        )
    if given and not sentence.pools_prompt:
        raise ConfigError(
            f"prompts: expected none for a module that leaves them out of its vector "
            f"(include_prompt: false in {POOLING}), which is not computed here, got {prompts!r}; "
            "set them to [], or take the key out of the file"
        )
    return tuple(given)


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
    if why := FAMILIES[encoder.family].no_engine:
        reason += f", {why}"
    if isinstance(encoder.added, TaskAttention):
        reason = "one with an attention of its own for each task"
    return (
        f"engine {engine}: module {encoder.handle}: expected a transformer that runs natively, got "
        f"{reason}; choose the engine tensorflow"
    )
