"""Checks of a config that involve several keys: each problem with the path of its key.

Imports no TensorFlow.
"""

import contextlib
import inspect
import os
from pathlib import Path
from typing import Any

from hub_modules.find import is_word_vectors
from hub_modules.keras_hub.handles import PREFIX, hint
from hub_modules.shipped import shipped_names
from hub_modules.storage.files import why_no_name
from hub_modules.storage.hub_pages import page_hint
from hub_modules.storage.strict_yaml import KeyPath
from tf_adapt.adaptation.adaptations import ADAPTATIONS
from tf_adapt.adaptation.phases import Adaptation
from tf_adapt.config.consistency_checks import consistency_problems
from tf_adapt.config.contrastive_checks import CONTRASTIVE, contrastive_problems
from tf_adapt.config.messages import shown
from tf_adapt.config.paths import is_name_or_url, named_paths
from tf_adapt.config.sections import Config
from tf_adapt.config.several_tasks_checks import one_task_problems, several_tasks_problems
from tf_adapt.config.task_checks import Found, kind_of, task_problems
from tf_adapt.config.training_sections import AdaptationConfig
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.kinds import KINDS, ONE_TEXT

_OF_ONE_TEXT = {kind for kind, row in KINDS.items() if row.texts == ONE_TEXT and row.target}


def problems_of(config: Config) -> Found:
    """All problems, as (path of the key, message)."""
    yield from _adaptation_problems(config.adaptation)
    yield from _learning_problems(config)
    yield from _path_problems(config)
    yield from _start_problems(config)
    yield from _reinitialise_problems(config)
    yield from _pretrained_problems(config)
    yield from _long_problems(config)
    yield from _prompt_problems(config)
    if config.tasks is not None:
        yield from several_tasks_problems(config)
    else:
        yield from one_task_problems(config)
    if config.data is not None:
        yield from task_problems(config)
    if config.adaptation.name == CONTRASTIVE:
        yield from contrastive_problems(config)
    if config.auxiliary.consistency is not None:
        yield from consistency_problems(config)
    for name in config.encoder.HANDLES:
        handle = getattr(config.encoder, name)
        if handle is not None:
            yield from _handle_problems(handle, ("encoder", name))
    if config.training.strategy and config.training.devices:
        yield (
            ("training", "strategy"),
            "expected null together with training.devices, got "
            f"{config.training.strategy}; each worker of multi_worker uses all its devices",
        )


def defaults_of(adaptation: str) -> dict[str, Any]:
    """The keys that an adaptation takes, with their defaults."""
    parameters = inspect.signature(ADAPTATIONS[adaptation]).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    return {
        n: list(default) if isinstance(default, tuple) else default
        for n, default in defaults.items()
    }


def adaptation_of(config: AdaptationConfig) -> Adaptation:
    """The adaptation that a complete section describes.

    Raises:
        ConfigError: its values contradict each other.
    """
    make = ADAPTATIONS[config.name]
    given = {name: getattr(config, name) for name in inspect.signature(make).parameters}
    return make(**{name: value for name, value in given.items() if value is not None})


def _adaptation_problems(given: AdaptationConfig) -> Found:
    """Keys of other adaptations, and values that contradict each other."""
    defaults = defaults_of(given.name)
    values = {name: value for name, value in given if name != "name" and value is not None}
    strange = sorted(values.keys() - defaults)
    for name in strange:
        yield (
            ("adaptation", name),
            f"not a key of {given.name}, which takes {', '.join(defaults) or 'none'}; remove it",
        )
    if strange:
        return
    for name in ("target", "in_layers"):
        listed = values.get(name, [])
        if len(set(listed)) < len(listed):
            yield ("adaptation", name), f"expected each once, got {', '.join(map(str, listed))}"
    if given.kind == "projected_attention":
        for name in ("in_layers", "activation", "operation", "parallel"):
            if name in values:
                yield (
                    ("adaptation", name),
                    "expected no such key with kind: projected_attention, which spans all layers; "
                    "remove it, or use kind: bottleneck",
                )
    try:
        adaptation_of(given.model_copy(update=defaults | values))
    except ConfigError as error:
        key, _, problem = str(error).partition(": ")
        yield ("adaptation", key), problem


def _learning_problems(config: Config) -> Found:
    optimizer = config.optimizer
    if optimizer.momentum is not None and optimizer.name != "sgd":
        yield (
            ("optimizer", "momentum"),
            f"expected null with optimizer.name: {optimizer.name}, got {optimizer.momentum}; "
            "only sgd takes one",
        )
    if optimizer.decay is not None and optimizer.factors is not None:
        yield (
            ("optimizer", "factors"),
            "expected null together with optimizer.decay; give a decay for all groups, or a "
            "factor for each",
        )
    for group, factor in (optimizer.factors or {}).items():
        if factor < 0:
            yield (
                ("optimizer", "factors", group),
                f"expected a number of at least 0, got {factor}",
            )
    if not config.adaptation.trains_encoder:
        for name, penalty in config.penalties:
            if penalty is not None:
                yield (
                    ("penalties", name),
                    "expected null with feature_extraction, under which the encoder stays where "
                    "it is; remove the section",
                )
    for name, loss in config.auxiliary:
        if loss is not None and (loss.final_weight is None) != (loss.anneal_steps is None):
            yield (
                ("auxiliary", name),
                "expected both or neither of final_weight and anneal_steps, got one; give the "
                "steps from one weight to the other",
            )
    if config.schedule.name == "slanted_triangular" and not 0 < config.training.warmup < 1:
        yield (
            ("training", "warmup"),
            "expected a share above 0 and below 1 with schedule.name: slanted_triangular, whose "
            f"rate first rises, got {config.training.warmup}",
        )
    if config.schedule.first_phase != 1 and not config.schedule.per_phase:
        yield (
            ("schedule", "first_phase"),
            f"expected 1 without schedule.per_phase, got {config.schedule.first_phase}; one "
            "schedule for the whole run has no rate of the first phase",
        )
    if config.schedule.per_phase and config.adaptation.patience is not None:
        yield (
            ("schedule", "per_phase"),
            "expected false together with adaptation.patience, got true; a phase that may end "
            "early has no length to plan a schedule for",
        )


def _start_problems(config: Config) -> Found:
    start = config.start
    if start is None:
        return
    if (start.run is None) == (start.config is None):
        got = "neither" if start.run is None else "both"
        yield (
            ("start",),
            "expected either run, the folder of a finished run, or config, that of a run to train "
            f"first, got {got}",
        )
    if start.config is not None and config.training.strategy is not None:
        yield (
            ("start", "config"),
            f"expected null together with training.strategy, got {shown(start.config)}; train it "
            "by itself, and name its folder in start.run",
        )


def _reinitialise_problems(config: Config) -> Found:
    layers = config.adaptation.reinitialise
    if layers is None:
        return
    held = "which would hold these layers at random weights"
    for key, section, reason in (
        ("start", config.start, "whose weights would be lost in these layers"),
        *((f"penalties.{name}", penalty, held) for name, penalty in config.penalties),
    ):
        if section is not None:
            yield (
                ("adaptation", "reinitialise"),
                f"expected null together with {key}, {reason}, got {layers}; remove one of them",
            )


def _pretrained_problems(config: Config) -> Found:
    if config.start is not None and not config.encoder.pretrained:
        yield (
            ("start",),
            "expected null with encoder.pretrained: false, whose weights are random, got a run to "
            "start from; remove one of them",
        )
    if config.forgetting is not None and not config.encoder.pretrained:
        yield (
            ("forgetting",),
            "expected null with encoder.pretrained: false, whose weights are random and have no "
            "pretraining to forget, got a section; remove one of them",
        )


def _long_problems(config: Config) -> Found:
    long = config.encoder.long
    if long is None:
        return
    if long.stride > long.window - 2:
        yield (
            ("encoder", "long", "stride"),
            f"expected at most {long.window - 2}, so that windows of {long.window} positions, two "
            f"of them special tokens, leave none out; got {long.stride}",
        )
    if config.encoder.prompts:
        yield (
            ("encoder", "prompts"),
            "expected null together with encoder.long, whose windows begin within a text, got "
            f"{config.encoder.prompts!r}",
        )
    if config.encoder.pairs == "joint":
        yield (
            ("encoder", "pairs"),
            "expected separate or null together with encoder.long, which cuts a row of one text "
            "into windows, got joint",
        )
    if config.training.document_context:
        yield (
            ("training", "document_context"),
            "expected false together with encoder.long, got true; a whole document as one text "
            "needs no neighbours",
        )
    if config.training.jit_compile:
        yield (
            ("training", "jit_compile"),
            "expected false together with encoder.long, got true; XLA has to know the number of "
            "windows",
        )
    consistency = config.auxiliary.consistency
    if consistency is not None and consistency.perturbation.name in ("adversarial", "noise"):
        yield (
            ("auxiliary", "consistency", "perturbation"),
            "expected another one together with encoder.long, whose windows share states, got "
            f"{consistency.perturbation.name}",
        )


def _prompt_problems(config: Config) -> Found:
    """A second prompt that no task reads."""
    prompts = config.encoder.prompts or []
    sections = [config] if config.tasks is None else map(config.of_task, config.tasks)
    kinds = [kind_of(section) for section in sections if section.data is not None]
    if len(prompts) == 2 and kinds and all(kind in _OF_ONE_TEXT for kind in kinds):
        yield (
            ("encoder", "prompts"),
            "expected one text where each example has one text, got 2; leave out the second one, "
            "which is for that of a pair",
        )


def _path_problems(config: Config) -> Found:
    for key, path in named_paths(config):
        reason = why_no_name(path) if path else None
        if reason is not None:
            yield key, f"expected the path of a file or folder, got {shown(path)}: {reason}"


def _handle_problems(handle: str, path: KeyPath) -> Found:
    if is_name_or_url(handle) and page_hint(handle) is None:
        return
    with contextlib.suppress(OSError):  # a name that is too long for any file
        # The root folder is no module.
        place = handle.removeprefix(PREFIX)
        is_folder = place and "\0" not in place and Path(place).is_dir()
        if is_folder and os.path.abspath(place).strip("/"):
            return
        if path[-1] == "handle" and is_word_vectors(handle) and Path(handle).is_file():
            return
    yield (
        path,
        f"expected the name of a shipped module ({', '.join(shipped_names())}), an existing folder "
        "or .txt file of word vectors, an http(s) URL, hf://ORG/NAME, kaggle://… or keras:PRESET, "
        f"got {handle!r}{hint(handle)}",
    )
