"""Records from TensorFlow Datasets, which keeps and downloads the public datasets."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tf_adapt.data.catalogue import DatasetInfo, TfdsInfo
from tf_adapt.data.formats import Record, TaggedSentence, check_text
from tf_adapt.errors import DataError


def read_tfds(
    info: DatasetInfo, split: str, data_dir: str | Path | None
) -> list[Record | TaggedSentence]:
    """Reads one of TensorFlow Datasets' splits; `where` is like `glue/mrpc:train[12]`.

    Its CoNLL-2003 ends every split with a sentence of no words, which is left out.

    Raises:
        DataError: the dataset is not there and cannot be downloaded; an example has no label.
    """
    dataset, features = _load(info.tfds, split, data_dir)
    read = _sentences if info.kind == "tagging" else _records
    examples = list(read(dataset, features, info.tfds, f"{info.tfds.name}:{split}"))
    if not examples:
        raise DataError(f"no examples in {info.tfds.name}:{split}; expected at least one")
    return examples


def _load(tfds_info: TfdsInfo, split: str, data_dir: str | Path | None) -> tuple:
    try:
        import tensorflow_datasets as tfds

        import tf_adapt.data.tfds_sick  # noqa: F401  (defining the builder makes `sick` known)

        with _few_retries():
            dataset, info = tfds.load(
                tfds_info.name,
                split=split,
                data_dir=None if data_dir is None else str(data_dir),
                with_info=True,
            )
        return list(tfds.as_numpy(dataset)), info.features
    # Unfit versions, network, disk, checksums, manual files: each fails with its own exceptions.
    except Exception as error:
        reason = " ".join(str(error).split())[:500]
        raise DataError(
            f"{tfds_info.name}:{split}: cannot be had from TensorFlow Datasets "
            f"({type(error).__name__}: {reason}); download it once where there is a network and "
            "name the folder as data_dir, or use source: files"
        ) from error


@contextlib.contextmanager
def _few_retries() -> Iterator[None]:
    """Without a network, TFDS's ten retries with doubling waits last three and a half minutes."""
    from tensorflow_datasets.core.download import downloader

    retries = downloader.MAX_RETRIES
    downloader.MAX_RETRIES = min(retries, 4)
    try:
        yield
    finally:
        downloader.MAX_RETRIES = retries


def _records(
    examples: list[dict], features: dict, tfds_info: TfdsInfo, name: str
) -> Iterator[Record]:
    for index, example in enumerate(examples):
        where = f"{name}[{index}]"
        text_b = tfds_info.text_b
        yield Record(
            text_a=_text(example[tfds_info.text_a], where, tfds_info.text_a),
            text_b=None if text_b is None else _text(example[text_b], where, text_b),
            label=_label(example[tfds_info.label], features[tfds_info.label], where),
            where=where,
        )


def _sentences(
    examples: list[dict], features: dict, tfds_info: TfdsInfo, name: str
) -> Iterator[TaggedSentence]:
    tag_feature = features[tfds_info.label].feature
    for index, example in enumerate(examples):
        where = f"{name}[{index}]"
        words = tuple(_text(word, where, tfds_info.text_a) for word in example[tfds_info.text_a])
        tags = tuple(_label(tag, tag_feature, where) for tag in example[tfds_info.label])
        if words:
            yield TaggedSentence(words, tags, where)


def _text(value: bytes, where: str, column: str) -> str:
    try:
        return check_text(value.decode("utf-8"), where, column)
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: expected UTF-8 in {column!r}, got {error}") from None


def _label(value: object, feature: object, where: str) -> str | float:
    """A class's name, or a score."""
    names = getattr(feature, "names", None)
    if names is None:
        return float(value)
    if not 0 <= value < len(names):
        raise DataError(
            f"{where}: expected a label, got {value}; the labels of this split are not public"
        )
    return names[value]
