"""Cached features on disk: what an entry of a cache lacks is computed.

What is absent or damaged is computed, and nothing else: an interrupted pass goes on after its last
shard, and what is a selection of a part that is there is taken from it.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence

from hub_modules.storage.files import remove_leftovers
from tf_adapt.encoder.feature_arrays import Computed
from tf_adapt.encoder.feature_files import Entry, Shard, intact_shards, read_shard, write_shard
from tf_adapt.encoder.feature_lock import locked_entry
from tf_adapt.encoder.feature_parts import FeaturePart
from tf_adapt.errors import ArtifactError


def shards_on_disk(
    entry: Entry,
    parts: dict[FeaturePart, float],
    alongside: Sequence[FeaturePart],
    compute: Callable[[list[FeaturePart], list[int]], Iterator[Iterator[Computed]]],
    select: Callable[[FeaturePart, dict[int, Shard]], Iterator[Iterator[Computed]]],
    require: bool,
) -> list[Shard]:
    """Lengths and rows of each shard, read from an entry; what is missing is computed.

    Args:
        parts: megabytes of each part, to see in time that the disk is full.
        alongside: small parts that are written too where the encoder runs.
        compute: runs the encoder for some parts of the shards of these numbers.
        select: a part of some shards, from those of its source.
        require: fail unless all shards are there and intact; the encoder does not run.

    Raises:
        ArtifactError: the folder cannot be written, the disk is full, or `require` and a shard is
            missing or damaged.
    """
    numbers = range(len(entry.orders))
    with locked_entry(entry.folder):
        for part in (*parts, *alongside):
            remove_leftovers(entry.shard(part, 0).parent, "shard_*")
        on_disk = {part: intact_shards(entry, part, require) for part in parts}
        for part, shards in on_disk.items():
            absent = [number for number in numbers if number not in shards]
            if part.source is not None and absent:
                shards |= _selected(entry, part, absent, parts[part], select)
        missing = {
            part: [number for number in numbers if number not in shards]
            for part, shards in on_disk.items()
        }
        if require:
            _check_nothing_missing(entry, missing)
        _check_space(entry, sum(parts[part] * entry.share(some) for part, some in missing.items()))
        _compute(entry, missing, alongside, compute)
        for part, some in missing.items():
            on_disk[part] |= {number: read_shard(entry, part, number) for number in some}
    return [
        (on_disk[next(iter(parts))][number][0], [on_disk[part][number][1][0] for part in parts])
        for number in numbers
    ]


def _selected(
    entry: Entry, part: FeaturePart, absent: list[int], part_mb: float, select
) -> dict[int, Shard]:
    """Those absent shards of a part whose source is there, and intact."""
    sources = {}
    for number in absent:
        with contextlib.suppress(ArtifactError):  # whoever reads the source will say so
            sources[number] = read_shard(entry, part.source, number)
    if not sources:
        return {}
    _check_space(entry, part_mb * entry.share(sources))
    for number, batches in zip(sources, select(part, sources), strict=True):
        write_shard(entry, [part], number, batches)
    return {number: read_shard(entry, part, number) for number in sources}


def _compute(
    entry: Entry, missing: dict[FeaturePart, list[int]], alongside: Sequence[FeaturePart], compute
) -> None:
    numbers = sorted({number for some in missing.values() for number in some})
    if not numbers:
        return
    parts = [part for part, some in missing.items() if some]
    names = {part.name for part in missing}
    parts += [part for part in alongside if part.name not in names]
    for number, batches in zip(numbers, compute(parts, numbers), strict=True):
        write_shard(entry, parts, number, batches)


def _check_nothing_missing(entry: Entry, missing: dict[FeaturePart, list[int]]) -> None:
    for part, numbers in missing.items():
        if numbers:
            raise ArtifactError(
                f"{entry.shard(part, numbers[0])}: the cache has no features of this data and "
                "module, and features.require is true; set it to false to have them computed"
            )


def _check_space(entry: Entry, expected_mb: float) -> None:
    free_mb = shutil.disk_usage(entry.folder).free / 1e6
    if expected_mb > free_mb:
        raise ArtifactError(
            f"{entry.cache}: features need {expected_mb:.0f} MB, and {free_mb:.0f} MB are free "
            "there; free space, choose another folder (features.cache, or the run's), or set "
            f"features.disk_limit_mb: {int(free_mb)}, so that the encoder reads the texts instead"
        )
