"""Outputs of a frozen encoder for folds of a cross-validation, computed once for all."""

from collections.abc import Callable
from dataclasses import replace

from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.data.splits.shifted import shifted_splits
from tf_adapt.data.stored.sequences import places_in


def with_fold_features(
    splits: Splits,
    data: dict[str, PreparedData],
    pool: PreparedData,
    with_features: Callable[[PreparedData], PreparedData],
) -> dict[str, PreparedData]:
    """The prepared splits with their rows of the outputs for all examples.

    Where an example is not one row (long sentences and contexts are), each split has its own.

    Args:
        pool: all examples, prepared.
        with_features: adds the outputs, from a cache where they are there.
    """
    further = {name: with_features(data[name]) for name in shifted_splits(data)}
    data = {name: prepared for name, prepared in data.items() if name not in further}
    parts = {"pool": (splits.pool, pool)} | {
        name: (splits.examples[name], prepared) for name, prepared in data.items()
    }
    if any(len(examples) != len(prepared.lengths) for examples, prepared in parts.values()):
        return {name: with_features(prepared) for name, prepared in data.items()} | further
    features = with_features(pool).features
    if features is None:
        return data | further
    with_rows = {}
    for name, prepared in data.items():
        places = places_in(splits.examples[name], splits.pool)
        columns = [[part.at(places) for part in column] for column in features]
        with_rows[name] = replace(prepared, features=columns)
    return with_rows | further
