"""Cached features: outputs of a frozen encoder, computed once for all epochs, cells and seeds.

Kept is what the head reads (`tf_adapt.layers.head_inputs`), in memory or in a cache on disk. The
cache has an entry for each text column, named by a hash of everything the outputs depend on (see
`feature_key`), and in it each part that some head reads: heads that read different parts share what
is there.
"""

import contextlib
import hashlib
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from hub_modules.engines.names import TENSORFLOW, package_versions
from hub_modules.families import FAMILIES
from hub_modules.native.inference_graph import InferenceGraph
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.data.stored.tokens import token_bytes
from tf_adapt.encoder.feature_arrays import (
    Features,
    Rows,
    computed_shards,
    features_from,
    in_memory,
    selected_shards,
    shard_orders,
)
from tf_adapt.encoder.feature_budget import DISK_LIMIT_MB, LIMIT_MB, Budget
from tf_adapt.encoder.feature_files import Entry, RowsOnDisk, Shard
from tf_adapt.encoder.feature_parts import (
    FeaturePart,
    columns,
    computed_dtype,
    kept_dtype,
    megabytes,
    parts_of,
)
from tf_adapt.encoder.feature_shards import shards_on_disk
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.layers.head_inputs import EVERYTHING, POOLED, HeadInputs
from tf_adapt.printing.progress import tracked
from tf_adapt.version import __version__

_log = logging.getLogger(__name__)


def with_features(
    prepared: PreparedData,
    encoder: HubEncoder,
    cache: str | Path | None = None,
    require: bool = False,
    limit_mb: int = LIMIT_MB,
    disk_limit_mb: int = DISK_LIMIT_MB,
    dtype: str = "float32",
    head_inputs: HeadInputs = EVERYTHING,
    own_folder: Path | None = None,
    progress: bool = False,
    engine: str | None = None,
) -> PreparedData:
    """The data with the outputs of a frozen encoder added, as far as a head reads them.

    Args:
        cache: folder of the cache; None: in memory, as far as `limit_mb` allows.
        require: fail unless the outputs are in the cache.
        limit_mb, disk_limit_mb: most megabytes of each text column, in memory and on disk. What
            needs more is not kept: the encoder then runs in every epoch.
        dtype: of the cached features; those computed in half precision are cached as they are.
        own_folder: where a run without a cache keeps what is too large for memory.
        progress: show a progress bar.
        engine: of the encoder from now on; None: the one that it has.

    Raises:
        ArtifactError: the cache cannot be written, or `require` and its entry is missing or
            damaged.
        ConfigError: an output is too large for `dtype`; or `require`, and the cache is not used; or
            the encoder cannot have the engine.
    """
    if engine is not None and engine != encoder.engine:
        encoder.engine = engine
    folder = cache or own_folder
    budget = Budget(limit_mb, disk_limit_mb, has_folder=folder is not None)
    parts, needed = kept_parts(prepared, encoder, head_inputs, dtype)
    home = budget.home(needed, cached=cache is not None)
    if require and home != "disk":
        raise ConfigError(
            f"features.require: expected features in the cache, got some that need {needed:.0f} MB "
            f"and are kept {'in memory' if home else 'nowhere'}: set features.cache, and "
            f"features.disk_limit_mb: {int(needed) + 1} or more"
        )
    if home is None:
        _log.warning("%s", budget.too_large(f"features of {len(prepared.lengths)} texts", needed))
        return prepared
    features = [
        build_features(
            prepared,
            number,
            encoder,
            encoder.forward,
            parts,
            kept_dtype(encoder, dtype),
            lambda batches: tracked(batches, "features", progress),
            Path(folder) if home == "disk" else None,
            _weights_digest(encoder),
            require,
            () if cache is None else _parts(encoder, POOLED),
        )
        for number in range(columns(prepared))
    ]
    return replace(prepared, features=features)


def kept_parts(
    prepared: PreparedData, encoder: HubEncoder, head_inputs: HeadInputs, dtype: str
) -> tuple[list[FeaturePart], float]:
    """The features that a head reads, and the megabytes of the larger text column."""
    parts = _parts(encoder, head_inputs)
    return parts, megabytes(prepared, encoder, parts, kept_dtype(encoder, dtype))


def build_features(
    prepared: PreparedData,
    number: int,
    encoder: HubEncoder,
    graph: InferenceGraph,
    parts: list[FeaturePart],
    dtype: np.dtype,
    track: Callable[[tf.data.Dataset], Iterable],
    folder: Path | None,
    weights: str | None,
    require: bool = False,
    alongside: Sequence[FeaturePart] = (),
) -> list[Features]:
    """The `Features` of each part for one text column: computed, or from the folder of a cache.

    Args:
        number: index of the text column.
        graph, track: as `computed_shards`.
        dtype: that they are kept in.
        folder: of the cache; None: in memory.
        weights: a digest of the weights, or None if they are the module's.
        alongside: small parts that other heads read, written to the cache when the encoder runs.

    Raises:
        ArtifactError, ConfigError: as `with_features`.
    """
    orders = shard_orders(prepared.lengths)

    def compute(some: list[FeaturePart], numbers: Sequence[int]):
        wanted = [orders[index] for index in numbers]
        return computed_shards(prepared, number, graph, some, wanted, dtype, track)

    def select(part: FeaturePart, sources: dict[int, Shard]):
        source = _kept_source(part.source, sources, orders, dtype, encoder)
        wanted = [orders[index] for index in sources]
        return selected_shards(prepared, number, encoder, source, [part], wanted, dtype, track)

    if folder is None:
        shards = list(in_memory(compute(parts, range(len(orders)))))
    else:
        key = feature_key(prepared, number, encoder, dtype, weights)
        entry = Entry(folder, key, dtype, orders)
        sizes = {part: megabytes(prepared, encoder, [part], dtype) for part in parts}
        shards = shards_on_disk(entry, sizes, alongside, compute, select, require)
    lengths, rows = zip(*shards, strict=True)
    return features_from(parts, orders, lengths, rows, dtype, computed_dtype(encoder))


def feature_key(
    prepared: PreparedData,
    number: int,
    encoder: HubEncoder,
    dtype: np.dtype,
    weights: str | None,
) -> dict[str, Any]:
    """Everything that cached features depend on, whichever parts they are, as plain values."""
    segments = prepared.segments if prepared.joint else [prepared.segments[number]]
    # The lengths decide which texts are in which shard; of a pair they are those of both texts.
    digest = hashlib.sha256(prepared.lengths.astype("<i8").tobytes())
    windows = [] if prepared.windows is None else [prepared.windows]
    for part in itertools.chain.from_iterable(map(token_bytes, [*segments, *windows])):
        digest.update(part)
    # Only where it is another: what TensorFlow computed before stays valid.
    other = {}
    if encoder.engine != TENSORFLOW:
        versions = package_versions(encoder.engine).items()
        other["engine"] = ", ".join(f"{package} {version}" for package, version in versions)
    other |= {} if encoder.long is None else {"long": asdict(encoder.long)}
    return other | {
        "module": encoder.module_hash,
        "weights": weights,
        "execution": encoder.execution,
        "computed": computed_dtype(encoder).name,
        "dtype": dtype.name,
        "versions": [__version__, tf.__version__],
        "device": "GPU" if tf.config.list_logical_devices("GPU") else "CPU",
        "texts": digest.hexdigest(),
    }


@contextlib.contextmanager
def reading_features(*data: PreparedData) -> Iterator[None]:
    """Raises what happened to features on disk in place of TensorFlow's error about its dataset.

    Raises:
        ArtifactError: they cannot be read any more.
    """
    try:
        yield
    except tf.errors.OpError:
        for rows in _rows_of(data):
            if isinstance(rows, RowsOnDisk) and rows.failure is not None:
                raise rows.failure from None
        raise


def digest_of(weights: Iterable) -> str:
    """SHA-256 of the values of weights."""
    digest = hashlib.sha256()
    for weight in weights:
        digest.update(weight.numpy().tobytes())
    return digest.hexdigest()


def _parts(encoder: HubEncoder, head_inputs: HeadInputs) -> list[FeaturePart]:
    # Encoders like ELMo have no pooled vector.
    return parts_of(head_inputs, encoder, with_pooled=not FAMILIES[encoder.family].is_like_elmo)


def _kept_source(
    part: FeaturePart,
    shards: dict[int, Shard],
    orders: list[np.ndarray],
    dtype: np.dtype,
    encoder: HubEncoder,
) -> Features:
    """A part of which some shards are there."""
    absent = [(np.zeros(len(order), np.int64), [None]) for order in orders]
    lengths, rows = zip(*(dict(enumerate(absent)) | shards).values(), strict=True)
    return features_from([part], orders, lengths, rows, dtype, computed_dtype(encoder))[0]


def _weights_digest(encoder: HubEncoder) -> str | None:
    """None if all weights of the frozen encoder are its module's."""
    return None if encoder.as_stored else digest_of(encoder.weights)


def _rows_of(data: Iterable[PreparedData]) -> list[Rows]:
    features = (
        feature for prepared in data for column in prepared.features or () for feature in column
    )
    return [rows for feature in features for rows in feature.shards]
