"""Records of the named datasets from TensorFlow Datasets."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tf_adapt.data.catalogue import DatasetInfo, TfdsInfo
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.kinds import KINDS
from tf_adapt.errors import DataError


def read_tfds(
    info: DatasetInfo, split: str, data_dir: str | Path | None
) -> list[Record | TaggedSentence]:
    """Reads one of TensorFlow Datasets' splits; `where` is like `glue/mrpc:train[12]`.

    Its CoNLL-2003 ends every split with a sentence without words, which is skipped.

    Raises:
        DataError: the dataset is not there and cannot be downloaded; an example has no label.
    """
    dataset, features = _load(info.tfds, split, data_dir)
    read = KINDS[info.kind].read_tfds
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
