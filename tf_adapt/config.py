"""The config of one run: strict YAML in, typed values out; every mistake is a `ConfigError`.

The keys themselves, with types, ranges and defaults, are in `tf_adapt.config_sections`. Imports no
TensorFlow.
"""

import contextlib
import inspect
import os
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from hub_modules.shipped import shipped_names
from tf_adapt.adaptation import ADAPTATIONS, Adaptation
from tf_adapt.config_errors import describe, did_you_mean, shown
from tf_adapt.config_sections import (
    AdaptationConfig,
    Config,
    DatasetConfig,
    FilesConfig,
    TextConfig,
)
from tf_adapt.errors import ConfigError
from tf_adapt.strict_yaml import KeyPath, dotted, parse_yaml, read_yaml


def load_config(
    path: str | Path, overrides: list[str] | tuple[str, ...] = (), seed: int | None = None
) -> Config:
    """Reads a config file, sets the overrides (`training.epochs=1`) and checks everything.

    Raises:
        ConfigError: file, line and key path of the first problem, what was expected and got.
    """
    content, lines = read_yaml(path)
    if not isinstance(content, dict):
        raise ConfigError(
            f"{path}: expected sections (data, encoder, adaptation, training), got "
            f"{shown(content)}; start from a file under configs/"
        )
    places = {key: f"{path}:{line}" for key, line in lines.items()}
    if "compare" in content:
        raise ConfigError(
            f"{places['compare',]}: compare: expected the config of a run, got that of a "
            "comparison; use `tf-adapt compare`"
        )
    if seed is not None:
        overrides = [*overrides, f"training.seed={seed}"]
    for override in overrides:
        set_key(content, override, places)
    return config_from(content, str(path), places)


def config_from(content: dict, where: str, places: dict[KeyPath, str] | None = None) -> Config:
    """Plain nested values → checked config; `places` says for messages where each key stands.

    Raises:
        ConfigError: as `load_config`.
    """
    places = places or {}
    if not isinstance(content, dict):
        raise ConfigError(
            f"{where}: expected sections (data, encoder, adaptation, training), got "
            f"{shown(content)}; start from a file under configs/"
        )
    content = dict(content)
    if "data" in content:
        data = content["data"]
        content["data"] = typed(_data_class(data), data, ("data",), where, places)
    _name_to_section(content)
    config = typed(Config, content, (), where, places)
    config = config.model_copy(update={"adaptation": filled_in(config.adaptation, where)})
    _check_learning(config, where)
    _check_objective(config, where)
    _check_data(config, where)
    _check_context(config, where)
    _check_handle(config.encoder.handle, "encoder.handle", where)
    if config.encoder.preprocessor is not None:
        _check_handle(config.encoder.preprocessor, "encoder.preprocessor", where)
    if config.training.strategy and config.training.devices:
        raise ConfigError(
            f"{where}: training.strategy: expected null together with training.devices, got "
            f"{config.training.strategy}; each worker of multi_worker uses all its devices"
        )
    return config


def adaptation_of(config: AdaptationConfig) -> Adaptation:
    """The adaptation that a section describes.

    Raises:
        ConfigError: its values contradict each other.
    """
    make = ADAPTATIONS[config.name]
    names = inspect.signature(make).parameters
    return make(**{name: getattr(config, name) for name in names})


def without_trial(config: Config) -> Config:
    """The config without what tells runs of one cell of a comparison apart."""
    training = config.training.model_copy(update={"learning_rate": 1.0, "seed": 0})
    return config.model_copy(update={"training": training})


def dump_config(config: Config) -> str:
    """YAML text, complete with defaults, that `load_config` reads back to an equal config."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False, allow_unicode=True)


def resolve_paths(config: Config) -> Config:
    """The same config with absolute paths, so that it means the same from any folder."""
    data = config.data
    names = ("data_dir",) if isinstance(data, DatasetConfig) else ("train", "dev", "test")
    data = data.model_copy(update={name: _absolute(getattr(data, name)) for name in names})
    encoder = config.encoder.model_copy(
        update={
            name: handle if _is_name_or_url(handle) else _absolute(handle)
            for name, handle in (
                ("handle", config.encoder.handle),
                ("preprocessor", config.encoder.preprocessor),
            )
        }
    )
    penalties = config.penalties
    if penalties.ewc is not None:
        ewc = penalties.ewc.model_copy(update={"fisher": _absolute(penalties.ewc.fisher)})
        penalties = penalties.model_copy(update={"ewc": ewc})
    features = config.features.model_copy(update={"cache": _absolute(config.features.cache)})
    return config.model_copy(
        update={"data": data, "encoder": encoder, "penalties": penalties, "features": features}
    )


def data_section(section: dict | None, kind: str) -> DatasetConfig | FilesConfig:
    """A `data` section from its plain values; without any, that of plain files of a kind.

    Plain files: TSV with the header `text_a` (pairs: `text_a`, `text_b`), or CoNLL columns whose
    first is the word.
    """
    if section is None:
        names = ("text_a", "text_b") if kind.startswith("pair_") else ("text_a",)
        columns = {"words": 0} if kind == "tagging" else {name: name for name in names}
        form = "conll" if kind == "tagging" else "tsv"
        section = {"format": form, "kind": kind, "train": "", "dev": "", "columns": columns}
    return (DatasetConfig if "dataset" in section else FilesConfig)(**section)


def _absolute(path: str | None) -> str | None:
    return None if path is None else os.path.abspath(path)


def _is_name_or_url(handle: str | None) -> bool:
    return handle is not None and (
        handle in shipped_names() or handle.startswith(("http://", "https://"))
    )


def _name_to_section(content: dict) -> None:
    """`adaptation: fine_tuning` is short for a section with a name."""
    if isinstance(content.get("adaptation"), str):
        content["adaptation"] = {"name": content["adaptation"]}


def set_key(content: dict, override: str, places: dict[KeyPath, str]) -> None:
    """Writes `KEY=VALUE` into plain nested values.

    Raises:
        ConfigError: it is not of that form, or its path leads through a value.
    """
    key, equals, text = override.partition("=")
    path = key.strip().split(".")
    if not equals or not all(path):
        raise ConfigError(f"--set {override}: expected KEY=VALUE such as training.epochs=1")
    value, _ = parse_yaml(text, f"--set {key}")
    _name_to_section(content)
    section = content
    for part in path[:-1]:
        section[part] = section = section.get(part, {})
        if not isinstance(section, dict):
            raise ConfigError(
                f"--set {key}: {part} is a value, not a section; check the key's path"
            )
    section[path[-1]] = value
    places[tuple(path)] = "--set"


def typed(
    model: type[BaseModel], content: Any, prefix: KeyPath, where: str, places: dict[KeyPath, str]
) -> Any:
    """Plain values → a section of a config.

    Args:
        prefix: the path of the section.

    Raises:
        ConfigError: the first problem, with file, line and key path.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        path = (*prefix, *problems[0]["loc"])
        place, problem = place_of(path, where, places), describe(model, problems[0])
        raise ConfigError(f"{place}: {dotted(path)}: {problem}{more}") from None


def place_of(path: KeyPath, where: str, places: dict[KeyPath, str]) -> str:
    """Where a key stands, or else the nearest section around it; `where` if nothing is known."""
    nearest = [path[:n] for n in range(len(path), 0, -1) if path[:n] in places]
    return places[nearest[0]] if nearest else where


def filled_in(given: AdaptationConfig, where: str) -> AdaptationConfig:
    """The section with the defaults of its adaptation; keys of others are refused."""
    parameters = inspect.signature(ADAPTATIONS[given.name]).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    if given.name == "adapters":  # the encoder's part of the section
        defaults |= {"kind": "bottleneck", "size": 64}
    values = {name: value for name, value in given if name != "name" and value is not None}
    for name in sorted(values.keys() - defaults):
        raise ConfigError(
            f"{where}: adaptation.{name}: not a key of {given.name}, which takes "
            f"{', '.join(defaults) or 'none'}; remove it"
        )
    filled = given.model_copy(update=defaults | values)
    try:
        adaptation_of(filled)
    except ConfigError as error:
        raise ConfigError(f"{where}: adaptation.{error}") from None
    return filled


def _check_learning(config: Config, where: str) -> None:
    optimizer = config.optimizer
    if optimizer.momentum is not None and optimizer.name != "sgd":
        raise ConfigError(
            f"{where}: optimizer.momentum: expected null with optimizer.name: {optimizer.name}, "
            f"got {optimizer.momentum}; only sgd takes one"
        )
    if optimizer.decay is not None and optimizer.factors is not None:
        raise ConfigError(
            f"{where}: optimizer.factors: expected null together with optimizer.decay; give a "
            "decay for all groups, or a factor for each"
        )
    for group, factor in (optimizer.factors or {}).items():
        if factor < 0:
            raise ConfigError(
                f"{where}: optimizer.factors.{group}: expected a number of at least 0, got {factor}"
            )
    if config.adaptation.name == "feature_extraction":
        for name, penalty in config.penalties:
            if penalty is not None:
                raise ConfigError(
                    f"{where}: penalties.{name}: expected null with feature_extraction, under "
                    "which the encoder stays where it is; remove the section"
                )
    for name, loss in config.auxiliary:
        if loss is not None and (loss.final_weight is None) != (loss.anneal_steps is None):
            raise ConfigError(
                f"{where}: auxiliary.{name}: expected both or neither of final_weight and "
                "anneal_steps, got one; give the steps from one weight to the other"
            )
    if config.schedule.name == "slanted_triangular" and not 0 < config.training.warmup < 1:
        raise ConfigError(
            f"{where}: training.warmup: expected a share above 0 and below 1 with schedule.name: "
            f"slanted_triangular, whose rate first rises, got {config.training.warmup}"
        )
    if config.schedule.per_phase and config.adaptation.patience is not None:
        raise ConfigError(
            f"{where}: schedule.per_phase: expected false together with adaptation.patience, got "
            "true; a phase that may end early has no length to plan a schedule for"
        )


def _data_class(data: Any) -> type[BaseModel]:
    if not isinstance(data, dict) or "format" not in data:
        return DatasetConfig
    return TextConfig if data["format"] == "text" else FilesConfig


def _check_objective(config: Config, where: str) -> None:
    is_text = isinstance(config.data, TextConfig)
    if is_text != (config.objective == "language_model"):
        raise ConfigError(
            f"{where}: objective: expected language_model together with data.format: text (and "
            f"task with any other data), got {config.objective}"
        )
    if not is_text:
        return
    for name in ("head", "head_dropout", "head_units"):
        value = getattr(config, name)
        if value not in ("default", None):
            raise ConfigError(
                f"{where}: {name}: a language model has its module's own output layer, got "
                f"{value!r}; remove the key"
            )
    for name, loss in config.auxiliary:
        if loss is not None:
            raise ConfigError(
                f"{where}: auxiliary.{name}: expected null for a language model, which is an "
                "objective by itself; remove the section"
            )
    if config.training.document_context:
        raise ConfigError(
            f"{where}: training.document_context: expected false for a language model, got true"
        )


def _check_data(config: Config, where: str) -> None:
    if isinstance(config.data, TextConfig):
        return
    if isinstance(config.data, FilesConfig):
        _check_files(config.data, where)
        return
    from tf_adapt.data.datasets import DATASETS

    data = config.data
    if data.dataset not in DATASETS:
        raise ConfigError(
            f"{where}: data.dataset: expected one of {', '.join(sorted(DATASETS))}, got "
            f"{data.dataset!r}{did_you_mean(data.dataset, DATASETS)}"
        )
    if data.source == "files" and data.data_dir is None:
        raise ConfigError(
            f"{where}: data.data_dir: expected the folder of the dataset's files with source: "
            "files, but the key is missing; add it, or use source: tfds or source: sample"
        )
    if data.source == "sample" and data.data_dir is not None:
        raise ConfigError(
            f"{where}: data.data_dir: expected null with source: sample, got {data.data_dir!r}; "
            "the sample data ship with the project"
        )


def _check_context(config: Config, where: str) -> None:
    data = config.data
    if not config.training.document_context:
        return
    if isinstance(data, DatasetConfig) and data.source == "tfds":
        raise ConfigError(
            f"{where}: training.document_context: expected false with source: tfds, whose "
            "sentences come without the boundaries of documents, got true; use source: files"
        )


def _check_files(data: FilesConfig, where: str) -> None:
    if data.kind == "tagging":
        needed, allowed = {"words", "tags"}, {"words", "tags"}
    else:
        needed = {"text_a", "label"} | ({"text_b"} if data.kind.startswith("pair") else set())
        allowed = needed | {"group"}
    given = {name for name, column in data.columns if column is not None}
    if (data.format == "conll") != (data.kind == "tagging"):
        raise ConfigError(
            f"{where}: data.format: expected conll for kind: tagging and tsv, csv or jsonl for the "
            f"others, got {data.format} with kind: {data.kind}"
        )
    for name in sorted(needed - given):
        raise ConfigError(
            f"{where}: data.columns.{name}: needed for kind: {data.kind}, but the key is missing; "
            "name the column that holds it"
        )
    for name in sorted(given - allowed):
        raise ConfigError(
            f"{where}: data.columns.{name}: not a column of kind: {data.kind}; remove it"
        )


def _check_handle(handle: str, key: str, where: str) -> None:
    names = shipped_names()
    if _is_name_or_url(handle):
        return
    with contextlib.suppress(OSError):  # a name that is too long for any file
        if handle and "\0" not in handle and Path(handle).is_dir():
            return
    raise ConfigError(
        f"{where}: {key}: expected the name of a shipped module ({', '.join(names)}), an existing "
        f"folder, or an http(s) URL, got {handle!r}{did_you_mean(handle, names)}"
    )
