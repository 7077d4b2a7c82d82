"""Whether train is large enough for the folds of a comparison's signals. Imports no TensorFlow."""

import itertools
from collections.abc import Sequence

from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.data.splits.subsampling import fold_units, part_of
from tf_adapt.errors import ConfigError


def check_folds(comparison: Comparison, train: Sequence) -> None:
    """Checks that train, and each part of it, can be cut into the folds that signals ask for.

    Raises:
        ConfigError: there are fewer examples, or documents, than folds.
    """
    of_folds = [cell for cell in comparison.cells if cell.folds is not None]
    for cell, size, seed in itertools.product(of_folds, comparison.sizes, comparison.seeds):
        part = train if size is None else part_of(train, size, seed)
        count = fold_units(part)
        if cell.folds > count:
            raise ConfigError(
                f"compare.signals.{cell.signal}.folds: expected at most {count}, the examples (or "
                f"documents) of the part of train with seed {seed}, got {cell.folds}"
            )
