"""A number for each example: the range of the targets."""

import math
from typing import TYPE_CHECKING

from tf_adapt.errors import ConfigError

if TYPE_CHECKING:  # it imports TensorFlow
    from tf_adapt.tasks.task import Task


def checked_range(task: "Task", name: str) -> tuple[float, float] | None:
    """The lowest and the highest target, or None.

    Raises:
        ConfigError: they are not two finite numbers, the lower first.
    """
    if task.label_range is None:
        return None
    try:
        low, high = (float(bound) for bound in task.label_range)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigError(
            f"label_range: expected two finite numbers, the lower first, got {task.label_range!r}"
        )
    return low, high
