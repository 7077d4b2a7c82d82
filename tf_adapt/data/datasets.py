"""Loads a split of a named dataset, or one file in a dataset's own format, as records.

All sources give the same record type and the same label names. The texts may differ a little:
TensorFlow Datasets has other copies of some datasets.
"""

import hashlib
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tf_adapt.data.catalogue import DATASETS, DatasetInfo, no_such_dataset
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.formats.text import KnownLines, lines_of
from tf_adapt.data.kinds import KINDS
from tf_adapt.data.labels import check_labels, convert_scheme, scheme_tags
from tf_adapt.data.limits import ROWS_MB
from tf_adapt.data.stored.sequences import at, stored
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.printing.words import alternatives

SPLITS = ("train", "dev", "test")
SOURCES = ("files", "tfds", "sample")
DEV_PERCENT = 10
DEV_SEED = 13
_log = logging.getLogger(__name__)

__all__ = [
    "DATASETS",
    "dataset_info",
    "dataset_labels",
    "load_dataset",
    "read_file",
    "split_description",
]


def load_dataset(
    name: str,
    split: str,
    source: str = "files",
    data_dir: str | Path | None = None,
    scheme: str = "IOB2",
    columns: Mapping[str, str] | None = None,
    memory_mb: float = math.inf,
) -> Sequence[Record | TaggedSentence]:
    """Reads one split of a dataset that is listed in `DATASETS`, or any of TensorFlow Datasets.

    Args:
        name: a key of `DATASETS`; with `columns` a name of TensorFlow Datasets.
        split: train, dev or test. A dataset without a dev split gets a fixed part of train as
            dev, which is removed from train; see `split_description`.
        source: files (the publisher's files, in `data_dir`), tfds (TensorFlow Datasets, which
            downloads datasets that are not in `data_dir` yet) or sample (ships with the project).
        data_dir: a folder.
        scheme: IOB1, IOB2 or BIOES, the tag scheme of the result; tags are checked strictly in
            the scheme of the source first.
        columns: with source tfds, the features of a dataset that is not in `DATASETS`, by `text`,
            or `text_a` and `text_b`, by `label` and `group`. `split` is then TensorFlow Datasets'
            own name, or a part such as `train[:10%]`; labels are the names of the classes.
        memory_mb: of examples in memory; more are on disk.

    Raises:
        ConfigError: no such dataset, split, source, scheme or feature; no `data_dir` for files.
        DataError: a file or split is missing, or its content is wrong.
    """
    if columns is not None:
        return _of_columns(name, split, source, data_dir, columns)
    info = _checked(name, split, source)
    from_split = "train" if _is_cut(info, split) else split
    if source == "tfds":
        from tf_adapt.data.tfds.records import read_tfds

        examples = read_tfds(info, _tfds_split(name, info, from_split), data_dir)
        source_scheme = info.tfds.scheme
    else:
        folder = _folder(name, info, source, data_dir)
        file = _find_file(name, info, from_split, folder)
        _warn_of_mistaken(name, info, from_split, file)
        examples = info.read(file, memory_mb=memory_mb)
        source_scheme = info.scheme
    if _is_cut(info, split):
        is_dev = split == "dev"
        examples = at(examples, (n for n, one in enumerate(examples) if is_held_out(one) == is_dev))
    checked = _checked_labels(name, info, examples, split, source_scheme, scheme)
    return stored(checked, memory_mb)


def _of_columns(
    name: str, split: str, source: str, data_dir: str | Path | None, columns: Mapping[str, str]
) -> list[Record]:
    from tf_adapt.data.tfds.columns import read_columns

    if source != "tfds":
        raise ConfigError(f"columns: expected none but with source: tfds, got source {source!r}")
    columns = {"text_a" if role == "text" else role: column for role, column in columns.items()}
    roles = ("text_a", "text_b", "label", "group")
    if "text_a" not in columns or not set(columns).issubset(roles):
        raise ConfigError(
            "columns: expected text, or text_a and text_b, with or without label and group, got "
            f"{', '.join(map(repr, columns)) or 'none'}"
        )
    return read_columns(name, {"split": split}, data_dir, columns)[0]["split"]


def read_file(
    path: str | Path, data: object, labelled: bool = True
) -> Sequence[Record | TaggedSentence]:
    """Reads one file in the format of a config's `data` section.

    A named dataset's file is read in its own format, tags converted to IOB2; a user's own file
    with the section's format, kind, columns and scheme, tags as they are.

    Args:
        path: a file.
        data: the section, of known dataset (`.dataset`) or of own files (`.format`, `.kind`,
            `.columns`, `.delimiter`, `.scheme`).
        labelled: False ignores labels; the file need not have any.

    Raises:
        ConfigError: no such dataset, or format and kind do not fit.
        DataError: the content of the file is wrong.
    """
    name = getattr(data, "dataset", None)
    if name is not None:
        info = dataset_info(name)
        examples = info.read(path, labelled=labelled, memory_mb=data.memory_mb)
        if not labelled:
            return examples
        return _checked_labels(name, info, examples, str(path), info.scheme, "IOB2")
    row = KINDS[data.kind]
    if data.format not in row.formats:
        raise ConfigError(
            f"data.format: expected {alternatives(row.formats)} for kind {data.kind}, got "
            f"{data.format!r}"
        )
    return row.read(path, data, labelled)


def rows_to_predict(path: str | Path, data: Any) -> Sequence[Record | TaggedSentence]:
    """As `read_file` without labels, with empty rows and all columns: `data.by_kind.to_predict`.

    Many are on disk, whatever `data.memory_mb` is.

    Raises:
        ConfigError, DataError: as `read_file`.
    """
    data = data.model_copy(update={"memory_mb": ROWS_MB})
    name = getattr(data, "dataset", None)
    row = KINDS[data.kind if name is None else dataset_info(name).kind]
    known = KnownLines(stored(lines_of(path), ROWS_MB), path)
    if name is None and not known.named_as_table:
        as_json, others = known.looks_like_json, [of for of in row.formats if of != "jsonl"]
        if as_json != (data.format == "jsonl"):
            data = in_format(data, "jsonl" if as_json else others[0])
    return row.to_predict(known, data, read_file)


def in_format(data: Any, form: str) -> Any:
    """A section of own files for a file in another format of its kind, if it is one.

    The columns that such a file shows by itself are then left open.
    """
    row = KINDS[data.kind]
    if form == data.format or form not in row.formats:
        return data
    shown = dict.fromkeys((*row.shown_columns, *row.in_place))
    columns = data.columns.model_copy(update=shown)
    return data.model_copy(update={"format": form, "columns": columns})


def dataset_info(name: str) -> DatasetInfo:
    """The metadata of a named dataset.

    Raises:
        ConfigError: no such dataset.
    """
    if name not in DATASETS:
        raise ConfigError(f"dataset: {no_such_dataset(name)}")
    return DATASETS[name]


def dataset_labels(name: str, scheme: str = "IOB2") -> list[str] | None:
    """Every label of a dataset, tags in `scheme`; None for a regression.

    Raises:
        ConfigError: no such dataset or scheme.
    """
    info = dataset_info(name)
    if info.entity_types:
        return scheme_tags(info.entity_types, scheme)
    return None if info.labels is None else list(info.labels)


def split_description(name: str, split: str, source: str = "files") -> str:
    """A text that describes a split and its origin.

    Raises:
        ConfigError: no such dataset, split or source.
    """
    info = _checked(name, split, source)
    cut = _is_cut(info, split)
    from_split = "train" if cut else split
    if source == "tfds":
        origin = f"TensorFlow Datasets, {info.tfds.name}:{_tfds_split(name, info, from_split)}"
    else:
        origin = f"file {' or '.join(_file_names(name, info, from_split))}"
    description = f"{name} {split} ({origin})"
    if cut:
        part = f"the {DEV_PERCENT} % of train that a hash of the text picks (seed {DEV_SEED})"
        without = "" if split == "dev" else "all but "
        description += f": {without}{part}; there is no dev split of its own"
    note = info.notes.get(f"{source}/{split}")
    return f"{description}: {note}" if note else description


def is_held_out(record: Record) -> bool:
    """True for the part of train that serves as dev if a dataset has none.

    A function of the text alone: equal texts are never in both parts, and the cut does not depend
    on the order of the examples.
    """
    digest = hashlib.sha256(f"{DEV_SEED}:{record.text_a}".encode()).digest()
    return int.from_bytes(digest[:8]) % 100 < DEV_PERCENT


def _checked(name: str, split: str, source: str) -> DatasetInfo:
    info = dataset_info(name)
    if split not in SPLITS:
        raise ConfigError(f"split: expected one of {', '.join(SPLITS)}, got {split!r}")
    if source not in SOURCES:
        raise ConfigError(f"source: expected one of {', '.join(SOURCES)}, got {source!r}")
    sources = ["sample"] if info.folder else ["files", *(["tfds"] if info.tfds else [])]
    if source not in sources:
        raise ConfigError(f"source: expected {' or '.join(sources)} for {name}, got {source!r}")
    return info


def _is_cut(info: DatasetInfo, split: str) -> bool:
    return "dev" not in info.files and split in ("train", "dev")


def _tfds_split(name: str, info: DatasetInfo, split: str) -> str:
    if split not in info.tfds.splits:
        raise _no_split(name, split, "tfds", info.tfds.splits)
    return info.tfds.splits[split]


def _file_names(name: str, info: DatasetInfo, split: str) -> Sequence[str]:
    if split not in info.files:
        raise _no_split(name, split, "sample" if info.folder else "files", info.files)
    return info.files[split]


def _no_split(name: str, split: str, source: str, splits: object) -> DataError:
    return DataError(
        f"{name}: no {split} split with public labels in source {source}; "
        f"expected one of {', '.join(splits)}"
    )


def _folder(name: str, info: DatasetInfo, source: str, data_dir: str | Path | None) -> Path:
    if source == "sample":
        return info.folder
    if data_dir is None:
        raise ConfigError(
            f"data_dir: expected the folder of {name}'s files ({_file_list(info)}), got none"
        )
    return Path(data_dir)


def _find_file(name: str, info: DatasetInfo, split: str, folder: Path) -> Path:
    names = _file_names(name, info, split)
    for file_name in names:
        matches = sorted(folder.glob(file_name)) if "*" in file_name else [folder / file_name]
        if len(matches) > 1:
            listed = ", ".join(path.name for path in matches)
            raise DataError(
                f"{folder}: expected one file {file_name} ({name} {split}), got {listed}; keep one "
                "in the folder"
            )
        if matches and matches[0].exists():
            return matches[0]
    what = "a folder without it" if folder.is_dir() else "no such folder"
    others = (f"; {file} there has {what}" for file, what in _mistaken(info, folder))
    raise DataError(
        f"{folder}: expected the file {' or '.join(names)} ({name} {split}), got {what}; "
        f"the files of {name} are {_file_list(info)}{''.join(others)}"
    )


def _mistaken(info: DatasetInfo, folder: Path) -> list[tuple[str, str]]:
    return [(file, what) for file, what in info.mistaken.items() if (folder / file).is_file()]


def _warn_of_mistaken(name: str, info: DatasetInfo, split: str, file: Path) -> None:
    for other, what in _mistaken(info, file.parent) if split == "train" else ():
        _log.warning("%s trains on %s; %s there has %s", name, file.name, other, what)


def _file_list(info: DatasetInfo) -> str:
    return ", ".join(f"{' or '.join(names)} ({split})" for split, names in info.files.items())


def _checked_labels(
    name: str,
    info: DatasetInfo,
    examples: Sequence,
    split: str,
    source_scheme: str | None,
    scheme: str,
) -> Sequence[Record | TaggedSentence]:
    if source_scheme is not None:
        examples = convert_scheme(examples, source_scheme, scheme)
    check_labels(examples, dataset_labels(name, scheme), f"{name} {split}", info.label_range)
    return examples
