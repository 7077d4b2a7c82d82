"""Reads the config of one run: strict YAML to typed values; every error is a `ConfigError`.

The keys themselves, with types, ranges and defaults, are in `tf_adapt.config.sections` and
`data_sections`. Imports no TensorFlow.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from hub_modules.storage.strict_yaml import KeyPath, parse_yaml, read_yaml
from tf_adapt.config.checks import defaults_of, problems_of
from tf_adapt.config.contrastive_checks import CONTRASTIVE
from tf_adapt.config.data_sections import DatasetConfig, FilesConfig, TextConfig, TfdsConfig
from tf_adapt.config.default_training import default_training
from tf_adapt.config.messages import Problems, describe, key_path, location_of, shown
from tf_adapt.config.names import canonical_path, with_canonical_names
from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.sections import Config, TaskConfig
from tf_adapt.config.task_checks import kind_of
from tf_adapt.config.training_sections import AdaptationConfig, TrainingConfig
from tf_adapt.data.kinds import KINDS
from tf_adapt.errors import ConfigError
from tf_adapt.heads import kinds as heads


def load_config(
    path: str | Path,
    overrides: list[str] | tuple[str, ...] = (),
    seed: int | None = None,
    leading_to: tuple[str, ...] = (),
) -> Config:
    """Reads a config file, sets the overrides (`training.epochs=1`) and checks everything.

    Args:
        leading_to: the files of the configs that start from this one.

    Raises:
        ConfigError: for every problem (at most `MOST_SHOWN`) file, line and key path, expected and
            given value; as `start_config`.
    """
    content, lines = read_yaml(path)
    if not isinstance(content, dict):
        raise ConfigError(
            f"{path}: expected sections (data, encoder, adaptation, training), got "
            f"{shown(content)}; start from a file under configs/"
        )
    locations = {key: f"{path}:{line}" for key, line in lines.items()}
    if "compare" in content:
        raise ConfigError(
            f"{locations['compare',]}: compare: expected the config of a run, got that of a "
            "comparison; use `tf-adapt compare`"
        )
    if seed is not None:
        overrides = [*overrides, f"training.seed={seed}"]
    content = overridden(content, overrides, str(path), locations)
    config = config_from(content, str(path), locations)
    if config.start is not None and config.start.config is not None:
        where = f"{location_of(('start', 'config'), str(path), locations)}: start.config"
        start_config(config.start.config, where, (*leading_to, os.path.realpath(path)))
    return config


def start_config(
    path: str, where: str = "start.config", leading_to: tuple[str, ...] = ()
) -> Config:
    """The config of a run that is trained first, with absolute paths; those that it starts from in
    turn are checked too.

    Args:
        where: the place that names it, for messages.
        leading_to: as in `load_config`.

    Raises:
        ConfigError: it cannot be read, is wrong, or starts from itself.
    """
    if os.path.realpath(path) in leading_to:
        chain = " starts from ".join([*leading_to, path])
        raise ConfigError(
            f"{where}: expected the config of another run, got one that starts from itself "
            f"({chain}); name a config without this start"
        )
    try:
        return resolve_paths(load_config(path, leading_to=leading_to))
    except ConfigError as error:
        raise ConfigError(
            f"{where}: expected the config of a run to train first: {error}"
        ) from None


def config_from(content: dict, where: str, locations: dict[KeyPath, str] | None = None) -> Config:
    """Plain nested values → checked config; `locations` has the location of each key for messages.

    Raises:
        ConfigError: as `load_config`.
    """
    problems = Problems(where, {} if locations is None else locations)
    config = checked_config(content, problems)
    problems.refuse()
    return config


def checked_config(content: Any, problems: Problems) -> Config | None:
    """As `config_from`, but adds errors to `problems` and returns None."""
    if not isinstance(content, dict):
        problems.add(
            (),
            "expected sections (data, encoder, adaptation, training), got "
            f"{shown(content)}; start from a file under configs/",
        )
        return None
    content = with_canonical_names(content, problems)
    _name_to_section(content)
    if "data" in content and (content["data"] is not None or content.get("tasks") is None):
        data = content["data"]
        content["data"] = typed(_data_class(data), data, ("data",), problems)
    if isinstance(content.get("tasks"), dict):
        content["tasks"] = typed_tasks(content["tasks"], problems)
    known = tuple(key for key in ("data", "tasks") if content.get(key, ...) is None)
    config = typed(Config, content, (), problems, known)
    if config is None or (problems and known):
        return None
    config = config.model_copy(update={"training": filled_in_training(config)})
    conflicts = list(problems_of(config))
    for path, problem in conflicts:
        problems.add(path, problem)
    if conflicts:
        return None
    return config.model_copy(
        update={"adaptation": filled_in(config.adaptation), "head": filled_in_head(config)}
    )


def typed_tasks(
    tasks: dict, problems: Problems, prefix: KeyPath = ()
) -> dict[str, TaskConfig] | None:
    """The sections of several tasks; None if one of them is wrong.

    Args:
        prefix: the path of the section that has `tasks`.
    """
    sections = {}
    for name, task in tasks.items():
        path, known = (*prefix, "tasks", name), ()
        if isinstance(task, dict) and "data" in task:
            data = typed(_data_class(task["data"]), task["data"], (*path, "data"), problems)
            task, known = task | {"data": data}, ("data",) if data is None else ()
        sections[name] = typed(TaskConfig, task, path, problems, known)
    return (
        None if any(task is None or task.data is None for task in sections.values()) else sections
    )


def without_trial(config: Config) -> Config:
    """The config without learning rate and seed, which differ between runs of one cell."""
    training = config.training.model_copy(update={"learning_rate": 1.0, "seed": 0})
    return config.model_copy(update={"training": training})


def dump_config(config: Config) -> str:
    """YAML text with all defaults, from which `load_config` restores an equal config."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False, allow_unicode=True)


def with_data(config: Config, change: Callable[[Any], Any]) -> Config:
    """The same config with another `data` section, for several tasks that of each."""
    if config.tasks is None:
        return config.model_copy(update={"data": change(config.data)})
    tasks = {
        name: task.model_copy(update={"data": change(task.data)})
        for name, task in config.tasks.items()
    }
    return config.model_copy(update={"tasks": tasks})


def one_task(config: Config, where: str, what: str) -> Config:
    """The config itself, if it has one task.

    Args:
        what: needs a config of one task, for the message.

    Raises:
        ConfigError: it has several tasks.
    """
    if config.tasks is None:
        return config
    raise ConfigError(
        f"{where}: tasks: expected the config of one task, with data and head, got several tasks "
        f"({', '.join(config.tasks)}); {what} takes one task at a time"
    )


def data_section(
    section: dict | None, kind: str, labelled: bool = False
) -> DatasetConfig | FilesConfig | TfdsConfig:
    """A `data` section from its plain values; for None, the default file format of a kind.

    Default formats: TSV with the header `text_a` (pairs: `text_a`, `text_b`) and, if `labelled`,
    `label`; CoNLL columns with words in the first, and tags in the last; or SQuAD's JSON.
    """
    if section is None:
        row = KINDS[kind]
        section = {"format": row.formats[0], "kind": kind, "train": "", "dev": ""}
        section["columns"] = row.text_columns | (row.label_columns if labelled else {})
    return _data_class(section)(**section)


def _name_to_section(content: dict) -> None:
    """`adaptation: fine_tuning` is short for a section with a name."""
    if isinstance(content.get("adaptation"), str):
        content["adaptation"] = {"name": content["adaptation"]}


def overridden(
    content: dict,
    overrides: list[str] | tuple[str, ...],
    where: str,
    locations: dict[KeyPath, str],
) -> dict:
    """The plain values of a file, with canonical names, after each override `KEY=VALUE`.

    Raises:
        ConfigError: an override has another form, or its path leads through a value; a name is
            given twice.
    """
    problems = Problems(where, locations)
    content = with_canonical_names(content, problems)
    problems.refuse()
    for override in overrides:
        _set_key(content, override, locations)
    return content


def _set_key(content: dict, override: str, locations: dict[KeyPath, str]) -> None:
    key, equals, text = override.partition("=")
    path = canonical_path(tuple(key.strip().split(".")))
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
    locations[path] = "--set"


def typed(
    model: type[BaseModel],
    content: Any,
    prefix: KeyPath,
    problems: Problems,
    known: tuple[str, ...] = (),
) -> Any:
    """Plain values → a section of a config; adds errors to `problems` and returns None.

    Args:
        prefix: the path of the section.
        known: keys whose problems were added already.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        errors = [detail for detail in errors if not detail["loc"] or detail["loc"][0] not in known]
    # Unknown keys first: a mistyped key explains the missing one.
    for detail in sorted(errors, key=lambda detail: detail["type"] != "extra_forbidden"):
        problems.add((*prefix, *key_path(detail["loc"])), describe(model, detail))
    return None


def filled_in(given: AdaptationConfig) -> AdaptationConfig:
    """The section with the defaults of its adaptation."""
    values = {name: value for name, value in given if name != "name" and value is not None}
    return given.model_copy(update=defaults_of(given.name) | values)


def filled_in_head(config: Config) -> str:
    """The name of the head; the default of contrastive tuning is that which it can fit."""
    if config.adaptation.name != CONTRASTIVE:
        return config.head
    return heads.KINDS[kind_of(config)].contrastive


def filled_in_training(config: Config) -> TrainingConfig:
    """The section with its defaults, which its `model_fields_set` leaves out.

    Raises:
        ArtifactError: the manifest of the module, read for the default rate, is damaged.
    """
    given = config.training
    if None not in (given.epochs, given.batch_size, given.learning_rate):
        return given
    task = config.of_task(config.target) if config.target in (config.tasks or ()) else config
    defaults = default_training(
        None if task.data is None else kind_of(task),
        config.encoder.handle,
        config.adaptation.name,
        task.head,
    )
    filled = {name: value for name, value in defaults.items() if getattr(given, name) is None}
    known = given.model_fields_set - filled.keys()
    return TrainingConfig.model_construct(_fields_set=known, **dict(given) | filled)


def _data_class(data: Any) -> type[BaseModel]:
    if not isinstance(data, dict):
        return DatasetConfig
    if "format" not in data:
        is_any_tfds = "name" in data or (data.get("source") == "tfds" and "columns" in data)
        return TfdsConfig if is_any_tfds else DatasetConfig
    return TextConfig if data["format"] == "text" else FilesConfig
