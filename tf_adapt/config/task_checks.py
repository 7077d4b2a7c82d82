"""Checks of one task in a config: its data, its head, its slices, and what trains with them.

Imports no TensorFlow.
"""

import re
from collections.abc import Iterator
from typing import Any

from hub_modules.storage.strict_yaml import KeyPath
from tf_adapt.config.data_sections import DatasetConfig, FilesConfig, TextConfig, TfdsConfig
from tf_adapt.config.kinds import KINDS, Refused
from tf_adapt.config.sections import Config
from tf_adapt.config.signal_checks import signal_problems
from tf_adapt.config.signal_sections import SliceConfig
from tf_adapt.data import kinds as files
from tf_adapt.data.catalogue import DATASETS, no_such_dataset
from tf_adapt.data.slices import words_of
from tf_adapt.printing.words import alternatives
from tf_adapt.tasks.kinds import labelled_kinds

Found = Iterator[tuple[KeyPath, str]]
# Keys of a head, with their defaults.
HEAD = (
    ("head", "default"),
    ("head_dropout", None),
    ("head_units", None),
    ("head_pooling", None),
    ("head_word_pieces", None),
    ("head_mixed", None),
    ("head_scaled", None),
)
# A part of a key's path and of a tag in TensorBoard.
_SLICE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def task_problems(config: Config) -> Found:
    """Problems of one task: its data, its head, and what training does with them."""
    yield from _objective_problems(config)
    yield from _data_problems(config)
    yield from _context_problems(config)
    yield from _kind_problems(config)
    yield from _batch_problems(config)
    yield from _slice_problems(config)
    yield from signal_problems(config, kind_of(config))


def _objective_problems(config: Config) -> Found:
    is_text = isinstance(config.data, TextConfig)
    if is_text != (config.objective == "language_model"):
        yield (
            ("objective",),
            "expected language_model together with data.format: text (and task with any other "
            f"data), got {config.objective}",
        )
    if not is_text:
        return
    for name, default in HEAD:
        value = getattr(config, name)
        if value != default:
            yield (
                (name,),
                f"a language model has its module's own output layer, got {value!r}; "
                "remove the key",
            )
    for name, loss in config.auxiliary:
        if loss is not None:
            yield (
                ("auxiliary", name),
                "expected null for a language model, which is an objective by itself; remove the "
                "section",
            )
    if config.training.document_context:
        yield (
            ("training", "document_context"),
            "expected false for a language model, got true",
        )


def _data_problems(config: Config) -> Found:
    data = config.data
    if isinstance(data, FilesConfig):
        yield from _files_problems(data)
    if isinstance(data, TfdsConfig):
        yield from _column_problems(data)
    yield from _part_problems(data, config.weak is not None)
    if not isinstance(data, DatasetConfig):
        return
    if data.dataset not in DATASETS:
        others = "; others of TensorFlow Datasets: name, kind, columns"
        hint = others if data.source == "tfds" else ""
        yield ("data", "dataset"), no_such_dataset(data.dataset) + hint
    if data.source == "files" and data.data_dir is None:
        yield (
            ("data", "data_dir"),
            "expected the folder of the dataset's files with source: files, but the key is "
            "missing; add it, or use source: tfds or source: sample",
        )
    if data.source == "sample" and data.data_dir is not None:
        yield (
            ("data", "data_dir"),
            f"expected null with source: sample, got {data.data_dir!r}; the sample data ship with "
            "the project",
        )


def _part_problems(data: Any, weak: bool) -> Found:
    """Of `fold` and `leave_out`: which of how many parts, and beside what."""
    fold, without = getattr(data, "fold", None), getattr(data, "leave_out", None)
    parts = {("fold", "leave_out"): fold, ("leave_out", "part"): without}
    for (key, name), section in parts.items():
        number = None if section is None else getattr(section, name)
        if number is not None and number >= section.of:
            yield (
                ("data", key, name),
                f"expected the number of one of {section.of} parts, from 0 to {section.of - 1}, "
                f"got {number}",
            )
    if fold is None:
        return
    given = [name for name in ("dataset", "dev", "test", "leave_out") if getattr(data, name, None)]
    if given:
        yield (
            ("data", "fold"),
            f"expected null beside data.{given[0]}: a fold plays test where there is neither dev "
            "nor test; for a run without a part of train use data.leave_out",
        )
    if weak:
        yield (("data", "fold"), "expected null beside weak, whose train has no labels to score")


def _context_problems(config: Config) -> Found:
    if config.training.document_context and getattr(config.data, "source", None) == "tfds":
        yield (
            ("training", "document_context"),
            "expected false with source: tfds, whose sentences come without the boundaries of "
            "documents, got true; use source: files",
        )


def _kind_problems(config: Config) -> Found:
    kind = kind_of(config)
    if kind is not None:
        yield from refused_keys(config, kind, KINDS[kind].refused)
        for path, problem in KINDS[kind].required.items():
            if _value_at(config, path) is None:
                yield path, problem


def refused_keys(config: Config, kind: str, refused: Refused) -> Found:
    """The keys among `refused` that have a value."""
    for path, problem in refused.items():
        value = _value_at(config, path)
        if value not in (None, False, []):
            yield path, problem.format(kind=kind, got=value)


def _value_at(config: Config, path: KeyPath) -> Any:
    value = config
    for key in path:
        value = getattr(value, key, None)
    return value


def _batch_problems(config: Config) -> Found:
    if config.head == "concat_pooling" and config.training.batch_size == 1:
        yield (
            ("training", "batch_size"),
            "expected at least 2 with head: concat_pooling, whose batch normalisation makes every "
            "batch of one example the same, got 1",
        )


def _slice_problems(config: Config) -> Found:
    kind, known = kind_of(config), {}
    if config.slices and isinstance(config.data, TextConfig):
        yield ("slices",), "expected none for a language model, which predicts no labels"
        return
    for name, of_slice in config.slices.items():
        path = ("slices", name)
        if not _SLICE_NAME.fullmatch(name):
            yield path, "expected a name of letters, digits, _ and -, beginning with a letter"
        other = known.setdefault(name.casefold(), name)
        if other != name:
            yield path, f"expected names that differ in more than case, got {other} too"
        if all(value is None for _, value in of_slice):
            rules = ", ".join(SliceConfig.model_fields)
            yield path, f"expected at least one rule of {rules}, got none"
        for word in of_slice.words or ():
            read = (words_of if kind is None else KINDS[kind].words)(word)
            if len(read) != 1 or len(read[0]) != len(word.casefold()):
                yield (
                    (*path, "words"),
                    f"expected single words, got {word!r}, which is read as {read}",
                )
        for rule, problem in ({} if kind is None else KINDS[kind].refused_rules).items():
            if getattr(of_slice, rule) is not None:
                yield (*path, rule), problem.format(kind=kind)


def kind_of(config: Config) -> str | None:
    """The kind of task; None for an unknown dataset, which `_data_problems` reports."""
    if isinstance(config.data, DatasetConfig):
        info = DATASETS.get(config.data.dataset)
        return None if info is None else info.kind
    return config.data.kind


def _files_problems(data: FilesConfig) -> Found:
    if data.format not in files.KINDS[data.kind].formats:
        yield (
            ("data", "format"),
            f"expected {_fitting_formats()}, got {data.format} with kind: {data.kind}",
        )
    yield from _column_problems(data)
    if data.delimiter is not None and data.format != "csv":
        yield (
            ("data", "delimiter"),
            f"expected null with data.format: {data.format}, got {data.delimiter!r}; only csv has "
            "a choice",
        )


def _fitting_formats() -> str:
    """The formats of each kind, those of most kinds last."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for kind in labelled_kinds():
        kinds.setdefault(files.KINDS[kind].formats, []).append(kind)
    most = max(kinds, key=lambda formats: len(kinds[formats]))
    others = {formats: alike for formats, alike in kinds.items() if formats != most}
    clauses = [
        f"{alternatives(formats)} for kind: {', '.join(alike)}" for formats, alike in others.items()
    ]
    return f"{', '.join(clauses)} and {alternatives(most)} for the others"


def _column_problems(data: FilesConfig | TfdsConfig) -> Found:
    row = files.KINDS[data.kind]
    given = {name for name, column in data.columns if column is not None}
    needed = set(row.columns) - (set() if given else set(row.shown_columns))
    needed -= {row.in_place[name] for name in given & row.in_place.keys()}
    for name in sorted(needed - given):
        yield (
            ("data", "columns", name),
            f"needed for kind: {data.kind}, but the key is missing; name the column that holds it",
        )
    for name in sorted(given - {*row.columns, *row.more_columns, *row.in_place}):
        yield ("data", "columns", name), f"not a column of kind: {data.kind}; remove it"
    for name, problem in row.column_problems(data):
        yield ("data", "columns", name), problem
