"""Records of the named datasets from TensorFlow Datasets."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tf_adapt.data.catalogue import DatasetInfo, TfdsInfo
from tf_adapt.data.formats import Answers, Record, TaggedSentence, check_text
from tf_adapt.errors import DataError
from tf_adapt.tasks.kinds import SPAN_EXTRACTION


def read_tfds(
    info: DatasetInfo, split: str, data_dir: str | Path | None
) -> list[Record | TaggedSentence]:
    """Reads one of TensorFlow Datasets' splits; `where` is like `glue/mrpc:train[12]`.

    Its CoNLL-2003 ends every split with a sentence without words, which is skipped.

    Raises:
        DataError: the dataset is not there and cannot be downloaded; an example has no label.
    """
    dataset, features = _load(info.tfds, split, data_dir)
    read = {"tagging": _sentences, SPAN_EXTRACTION: _questions}.get(info.kind, _records)
    examples = list(read(dataset, features, info.tfds, f"{info.tfds.name}:{split}"))
    if not examples:
        raise DataError(f"no examples in {info.tfds.name}:{split}; expected at least one")
    return examples


def _load(tfds_info: TfdsInfo, split: str, data_dir: str | Path | None) -> tuple:
    try:
        import tensorflow_datasets as tfds

        import tf_adapt.data.tfds.sick  # noqa: F401  (the import registers the builder `sick`)

        with few_retries():
            dataset, info = tfds.load(
                tfds_info.name,
                split=split,
                data_dir=None if data_dir is None else str(data_dir),
                with_info=True,
            )
        return list(tfds.as_numpy(dataset)), info.features
    # Incompatible versions, network, disk, checksums, manual files: each has its own exceptions.
    except Exception as error:
        raise not_loaded(f"{tfds_info.name}:{split}", error) from error


def not_loaded(what: str, error: Exception) -> DataError:
    """An error of TensorFlow Datasets as a DataError with the remedy."""
    reason = " ".join(str(error).split())[:500]
    return DataError(
        f"{what}: cannot be loaded from TensorFlow Datasets ({type(error).__name__}: {reason}); "
        "download it once where there is a network and name the folder as data_dir, or use "
        "source: files"
    )


@contextlib.contextmanager
def few_retries() -> Iterator[None]:
    """Limits TFDS's retries to 4: without a network, ten with doubling waits take 3.5 minutes."""
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
            text_a=decoded_text(example[tfds_info.text_a], where, tfds_info.text_a),
            text_b=None if text_b is None else decoded_text(example[text_b], where, text_b),
            label=_label(example[tfds_info.label], features[tfds_info.label], where),
            where=where,
        )


def _questions(
    examples: list[dict], features: dict, tfds_info: TfdsInfo, name: str
) -> Iterator[Record]:
    for index, example in enumerate(examples):
        where, given = f"{name}[{index}]", example[tfds_info.label]
        yield Record(
            decoded_text(example[tfds_info.text_a], where, tfds_info.text_a),
            decoded_text(example[tfds_info.text_b], where, tfds_info.text_b),
            Answers(
                tuple(decoded_text(text, where, "answers") for text in given["text"]),
                tuple(map(int, given["answer_start"])),
            ),
            where,
        )


def _sentences(
    examples: list[dict], features: dict, tfds_info: TfdsInfo, name: str
) -> Iterator[TaggedSentence]:
    tag_feature = features[tfds_info.label].feature
    for index, example in enumerate(examples):
        where = f"{name}[{index}]"
        words = tuple(
            decoded_text(word, where, tfds_info.text_a) for word in example[tfds_info.text_a]
        )
        tags = tuple(_label(tag, tag_feature, where) for tag in example[tfds_info.label])
        if words:
            yield TaggedSentence(words, tags, where)


def decoded_text(value: bytes, where: str, column: str) -> str:
    """A text, after a check that it is not empty.

    Raises:
        DataError: it is empty or not UTF-8.
    """
    try:
        return check_text(value.decode("utf-8"), where, column)
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: expected UTF-8 in {column!r}, got {error}") from None


def _label(value: object, feature: object, where: str) -> str | float:
    """A class's name, or a score."""
    if getattr(feature, "names", None) is None:
        return float(value)
    return class_name(value, feature, where)


def class_name(value: int, feature: object, where: str) -> str:
    """The name of a class; TensorFlow Datasets has −1 for labels that are not public.

    Raises:
        DataError: there is no such class.
    """
    if not 0 <= value < len(feature.names):
        raise DataError(
            f"{where}: expected a label, got {value}; the labels of this split are not public"
        )
    return feature.names[value]
