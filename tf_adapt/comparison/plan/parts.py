"""Whether train is large enough for the parts that signals leave out. Imports no TensorFlow."""

import itertools
from collections.abc import Sequence

from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.data.splits.subsampling import part_of, units_of
from tf_adapt.errors import ConfigError


def check_parts(comparison: Comparison, train: Sequence) -> None:
    """Checks that train, and each part of it, can be cut into the parts that signals leave out.

    Raises:
        ConfigError: there are fewer examples, or documents, than parts.
    """
    with_parts = [cell for cell in comparison.cells if cell.parts is not None]
    for cell, size, seed in itertools.product(with_parts, comparison.sizes, comparison.seeds):
        part = train if size is None else part_of(train, size, seed)
        count = units_of(part)
        if cell.parts > count:
            raise ConfigError(
                f"compare.signals.{cell.signal}.leave_out_parts: expected at most {count}, "
                f"the examples (or documents) of the part of train with seed {seed}, got "
                f"{cell.parts}"
            )
