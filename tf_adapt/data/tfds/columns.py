"""Records from any dataset of TensorFlow Datasets, from features that the user names."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tf_adapt.data.catalogue import DATASETS
from tf_adapt.data.formats import Record
from tf_adapt.data.kinds import KINDS
from tf_adapt.data.tfds.features import GROUPS, TEXTS, UNCHANGED
from tf_adapt.data.tfds.records import few_retries, not_loaded
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.printing.words import did_you_mean

_log = logging.getLogger(__name__)
_Reader = Callable[[Any, str], Any]


def read_columns(
    name: str,
    splits: Mapping[str, str],
    data_dir: str | Path | None,
    columns: Mapping[str, str],
    kind: str | None = None,
) -> tuple[dict[str, list[Record]], list[str] | None]:
    """Reads splits of a dataset; `where` is like `ag_news_subset:train[12]`.

    The label of a class is its name. Integers without names become their decimal digits, as in
    tables.

    Args:
        name: in TensorFlow Datasets: `ag_news_subset`, `glue/mrpc`, `NAME:1.0.0`.
        splits: our name → name in TensorFlow Datasets, or a part (`train[:10%]`).
        data_dir: folder of datasets; None for TensorFlow Datasets' own.
        columns: maps `text_a`, `text_b`, `label` and `group` to features.
        kind: of the task; None keeps labels unchanged, integers as numbers.

    Returns:
        The examples of each split, and the names of all classes, if there are any.

    Raises:
        ConfigError: no such dataset, split or feature, or the feature is of another type.
        DataError: the dataset cannot be loaded; an example has no label or an empty text.
    """
    builder = _builder(name, data_dir)
    features = builder.info.features
    readers = {
        role: _reader(role, column, features, name, kind) for role, column in columns.items()
    }
    wanted = dict.fromkeys(columns.values(), True)
    records = {}
    for key, split in splits.items():
        examples = _examples(builder, name, key, split, wanted)
        records[key] = list(_records(examples, columns, readers))
        if not records[key]:
            raise DataError(f"no examples in {name}:{split}; expected at least one")
    _log_other_splits(builder, name, splits.values())
    classes = getattr(features[columns["label"]], "names", None) if "label" in columns else None
    return records, classes and list(classes)


def _builder(name: str, data_dir: str | Path | None) -> Any:
    try:
        import tensorflow_datasets as tfds
        from tensorflow_datasets.core.registered import DatasetNotFoundError
    except Exception as error:  # unfit versions
        raise not_loaded(name, error) from error
    try:
        with few_retries():
            return tfds.builder(name, data_dir=None if data_dir is None else str(data_dir))
    except DatasetNotFoundError:
        there = _names_in(data_dir)
        hint = did_you_mean(name, [*there, *tfds.list_builders()])
        if name in DATASETS:
            hint = f"; this project reads it without columns, as dataset: {name}"
        raise ConfigError(
            f"data.name: expected a dataset that TensorFlow Datasets knows, or one in data_dir "
            f"({', '.join(there) or 'which has none'}), got {name!r}{hint}"
        ) from None
    except ValueError as error:  # of its config or version
        reason = " ".join(str(error).split())[:500]
        raise ConfigError(f"data.name: {reason}; correct {name!r}") from None
    except Exception as error:
        raise not_loaded(name, error) from error


def _log_other_splits(builder: Any, name: str, splits: Iterable[str]) -> None:
    others = [other for other in builder.info.splits if not any(other in split for split in splits)]
    if others:
        _log.info(
            "%s: not read: %s; data.train, data.dev and data.test name splits",
            name,
            ", ".join(others),
        )


def _names_in(data_dir: str | Path | None) -> list[str]:
    """The datasets of a folder, as `NAME/VERSION` or `NAME/CONFIG/VERSION`."""
    if data_dir is None:
        return []
    infos = [*Path(data_dir).glob("*/*/dataset_info.json")]
    infos += Path(data_dir).glob("*/*/*/dataset_info.json")
    return sorted({path.relative_to(data_dir).parts[0] for path in infos})


def _examples(
    builder: Any, name: str, key: str, split: str, wanted: Mapping[str, bool]
) -> Iterator[tuple[str, dict]]:
    """Location and wanted features of each example; other features (images) are not decoded."""
    import tensorflow_datasets as tfds

    try:
        with few_retries():
            builder.download_and_prepare()
    except Exception as error:  # network, disk, checksums, manual files
        raise not_loaded(name, error) from error
    try:
        decoders = tfds.decode.PartialDecoding(wanted)
        dataset = builder.as_dataset(split=split, decoders=decoders)
    except ValueError as error:
        reason = " ".join(str(error).split())[:300]
        raise ConfigError(
            f"data.{key}: expected a split of {name} ({', '.join(builder.info.splits)}), or a "
            f"part such as train[:10%], got {split!r}: {reason}"
        ) from None
    try:
        for index, example in enumerate(tfds.as_numpy(dataset)):
            yield f"{name}:{split}[{index}]", example
    except Exception as error:  # damaged files
        raise not_loaded(f"{name}:{split}", error) from error


def _records(
    examples: Iterator[tuple[str, dict]], columns: Mapping[str, str], readers: Mapping[str, _Reader]
) -> Iterator[Record]:
    for where, example in examples:
        yield Record(
            **{role: readers[role](example[name], where) for role, name in columns.items()},
            where=where,
        )


def _reader(role: str, column: str, features: Mapping, name: str, kind: str | None) -> _Reader:
    """A function that converts a feature's values to texts, labels or groups."""
    there = ", ".join(
        f"{feature_name} ({type(feature).__name__})" for feature_name, feature in features.items()
    )
    if column not in features:
        raise ConfigError(
            f"data.columns.{role}: expected one of the features of {name}: {there}, got "
            f"{column!r}{did_you_mean(column, features)}"
        )
    feature = features[column]
    labels = UNCHANGED if kind is None else KINDS[kind].features
    takes = {"label": labels, "group": GROUPS}.get(role, TEXTS)
    read = takes.get(_type(feature))
    if read is None:
        of_kind = f" for kind: {kind}" if kind and role == "label" else ""
        raise ConfigError(
            f"data.columns.{role}: expected {' or '.join(takes)}{of_kind}, got {column!r}, which "
            f"is of another type; the features of {name} are {there}"
        )
    return lambda value, where: read(value, where, column, feature)


def _type(feature: Any) -> str:
    """The type of a feature, as in messages; its class name if not of texts, classes or numbers."""
    names, dtype = getattr(feature, "names", None), getattr(feature, "tf_dtype", None)
    if feature.shape == (None,):
        return "classes" if names else "texts" if dtype.name == "string" else "a sequence"
    if feature.shape != ():
        return type(feature).__name__
    if names:
        return "a class"
    if dtype.is_floating:
        return "a number"
    return "a text" if dtype.name == "string" else "a whole number"
