"""The config of one run: strict YAML in, typed values out; every mistake is a `ConfigError`.

The classes below are the whole list of keys, types, ranges and defaults. Nothing is converted:
text is never a number, `no` is never text. Imports no TensorFlow.
"""

import contextlib
import os
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hub_modules.shipped import shipped_names
from tf_adapt.config_errors import describe, did_you_mean, shown
from tf_adapt.errors import ConfigError
from tf_adapt.strict_yaml import KeyPath, dotted, parse_yaml, read_yaml

Kind = Literal["classification", "pair_classification", "pair_regression", "tagging"]
Objective = Literal["task", "language_model"]
# The keys of `tasks.HEADS`, which cannot be imported without TensorFlow.
HEAD_NAMES = (
    "default",
    "linear",
    "max_pooling",
    "bi_attention",
    "bcn",
    "esim",
    "linear_tagger",
    "crf",
    "bilstm",
    "bilstm_crf",
)
Count = Field(ge=1, description="a whole number of at least 1")


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class About(_Section):
    """What an experiment is, for its reader."""

    summary: str = Field(description="text: what this experiment is")
    expected: str = Field(description="text: the score to expect, with its deviation over seeds")
    minutes: float = Field(ge=0, description="a number of minutes, at least 0")


class DatasetConfig(_Section):
    """A dataset the project knows by name."""

    dataset: str = Field(description="the name of a dataset")
    source: Literal["files", "tfds", "sample"] = Field("files", description="files, tfds or sample")
    data_dir: str | None = Field(None, description="the folder of the dataset's files, or null")
    train_examples: int | None = Field(
        None, ge=1, description="a whole number of at least 1, or null for all"
    )


class Columns(_Section):
    """Which column holds what: names for tables and JSON lines, numbers from 0 for CoNLL."""

    text_a: str | None = Field(None, description="the name of a column, or null")
    text_b: str | None = Field(None, description="the name of a column, or null")
    label: str | None = Field(None, description="the name of a column, or null")
    words: int | None = Field(None, ge=0, description="a column number from 0, or null")
    tags: int | None = Field(None, ge=0, description="a column number from 0, or null")


class FilesConfig(_Section):
    """The user's own files."""

    format: Literal["tsv", "csv", "jsonl", "conll"] = Field(
        description="tsv, csv, jsonl, conll, or text for a language model"
    )
    kind: Kind = Field(
        description="classification, pair_classification, pair_regression or tagging"
    )
    train: str = Field(description="the path of a file")
    dev: str = Field(description="the path of a file")
    test: str | None = Field(None, description="the path of a file, or null")
    columns: Columns = Field(description="a section that maps text_a, label … to columns")
    scheme: Literal["IOB1", "IOB2", "BIOES"] = Field("IOB2", description="IOB1, IOB2 or BIOES")
    labels: list[str] | None = Field(None, description="a list of label names, or null")
    label_range: list[float] | None = Field(
        None, min_length=2, max_length=2, description="two numbers [lowest, highest], or null"
    )


class TextConfig(_Section):
    """Unlabelled text of the user's own, one text a line, for a language model."""

    format: Literal["text"] = Field(description="text")
    kind: Literal["language_model"] = Field(description="language_model")
    train: str = Field(description="the path of a file")
    dev: str = Field(description="the path of a file")
    test: str | None = Field(None, description="the path of a file, or null")
    skip_empty: bool = Field(False, description="true or false")


class EncoderConfig(_Section):
    """The pretrained module and how it is executed."""

    handle: str = Field(description="the name of a shipped module, a folder, or an http(s) URL")
    execution: Literal["native", "saved_model"] | None = Field(
        None, description="native, saved_model, or null for native where the module is recognised"
    )
    trust: bool = Field(False, description="true or false")
    preprocessor: str | None = Field(None, description="a folder or an http(s) URL, or null")


class TrainingConfig(_Section):
    """One training: its length, optimizer, limits and devices."""

    epochs: int = Count
    batch_size: int = Count
    learning_rate: float = Field(gt=0, description="a number above 0")
    warmup: float = Field(0.1, ge=0, le=1, description="a fraction of all steps, from 0 to 1")
    weight_decay: float = Field(0.01, ge=0, description="a number of at least 0")
    clip_norm: float | None = Field(1.0, gt=0, description="a number above 0, or null")
    patience: int | None = Field(
        None, ge=1, description="a whole number of epochs of at least 1, or null to run them all"
    )
    max_length: int | None = Field(
        None, ge=4, description="a whole number of at least 4, or null for the encoder's limit"
    )
    truncate: bool = Field(False, description="true or false")
    document_context: bool = Field(False, description="true or false")
    mixed_precision: Literal["bfloat16", "float16"] | None = Field(
        None, description="bfloat16, float16, or null"
    )
    devices: str | None = Field(
        None,
        pattern=r"^(all|(cpu|gpu):[1-9][0-9]{0,2})$",
        description="all, cpu:N, gpu:N, or null for one device",
    )
    strategy: Literal["multi_worker"] | None = Field(None, description="multi_worker, or null")
    seed: int = Field(0, ge=0, lt=2**32, description="a whole number from 0 to 2^32 - 1")


class Config(_Section):
    """Everything that one run depends on."""

    about: About | None = Field(None, description="a section with summary, expected and minutes")
    objective: Objective = Field("task", description="task or language_model")
    data: DatasetConfig | FilesConfig | TextConfig = Field(description="a section")
    encoder: EncoderConfig = Field(description="a section")
    head: Literal[HEAD_NAMES] = Field("default", description=", ".join(HEAD_NAMES))
    head_dropout: float | None = Field(
        None, ge=0, lt=1, description="a number from 0 to below 1, or null for the published one"
    )
    head_units: int | None = Field(
        None, ge=1, description="a whole number of at least 1, or null for the published width"
    )
    adaptation: Literal["fine_tuning", "feature_extraction"] = Field(
        description="fine_tuning or feature_extraction"
    )
    training: TrainingConfig = Field(description="a section")


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
    if seed is not None:
        overrides = [*overrides, f"training.seed={seed}"]
    for override in overrides:
        _set(content, override, places)
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
        content["data"] = _typed(_data_class(data), data, ("data",), where, places)
    config = _typed(Config, content, (), where, places)
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
    return config.model_copy(update={"data": data, "encoder": encoder})


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


def _set(content: dict, override: str, places: dict[KeyPath, str]) -> None:
    key, equals, text = override.partition("=")
    path = key.strip().split(".")
    if not equals or not all(path):
        raise ConfigError(f"--set {override}: expected KEY=VALUE such as training.epochs=1")
    value, _ = parse_yaml(text, f"--set {key}")
    section = content
    for part in path[:-1]:
        section[part] = section = section.get(part, {})
        if not isinstance(section, dict):
            raise ConfigError(
                f"--set {key}: {part} is a value, not a section; check the key's path"
            )
    section[path[-1]] = value
    places[tuple(path)] = "--set"


def _typed(
    model: type[BaseModel], content: Any, prefix: KeyPath, where: str, places: dict[KeyPath, str]
) -> Any:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        path = (*prefix, *problems[0]["loc"])
        nearest = [path[:n] for n in range(len(path), 0, -1) if path[:n] in places]
        place = places[nearest[0]] if nearest else where
        problem = describe(model, problems[0])
        raise ConfigError(f"{place}: {dotted(path)}: {problem}{more}") from None


def _data_class(data: Any) -> type[_Section]:
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
        allowed = needed
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
